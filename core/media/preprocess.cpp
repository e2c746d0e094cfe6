// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/preprocess.h"

#include "core/error.h"
#include "core/media/part.h"

#include <spdlog/fmt/fmt.h>

#include <cstdint>

namespace ttt {
namespace {

/// int(round(margin / 2)) in Python: a half goes to the even neighbour.
int centred_offset(int size, int crop_size) {
  const int margin = size - crop_size;
  const int half = margin / 2;
  return margin % 2 == 0 || half % 2 == 0 ? half : half + 1;
}

void check_options(const PreprocessOptions& options) {
  constexpr int kMaxSize = 1 << 16;
  TTT_CHECK(options.width > 0 && options.height > 0 && options.width <= kMaxSize &&
                options.height <= kMaxSize,
            usage, fmt::format("size {}x{} is out of range", options.width, options.height),
            "--size", fmt::format("give sides from 1 to {}", kMaxSize));
  TTT_CHECK(options.crop_percent > 0.0 && options.crop_percent <= 1.0, usage,
            fmt::format("{} is out of range", options.crop_percent), "--crop-pct",
            "give a fraction above 0 and up to 1");
}

}  // namespace

ResizePlan plan_resize(int image_width, int image_height, const PreprocessOptions& options) {
  check_options(options);
  TTT_CHECK(image_width > 0 && image_height > 0, internal, "plan of an empty picture");
  if (options.rule == ResizeRule::squash)
    return {options.width, options.height, {0, 0, options.width, options.height}};

  // The box to cover. Division in double and truncation, as Python computes it.
  const auto box_width = static_cast<std::int64_t>(options.width / options.crop_percent);
  const auto box_height = static_cast<std::int64_t>(options.height / options.crop_percent);
  std::int64_t width = box_width;
  std::int64_t height = box_width * image_height / image_width;
  if (height < box_height) {
    height = box_height;
    width = box_height * image_width / image_height;
  }
  constexpr std::int64_t kMaxSide = std::int64_t{1} << 30;
  TTT_CHECK(width <= kMaxSide && height <= kMaxSide, input,
            fmt::format("a picture of {}x{} is too long and thin for a crop of {}x{}", image_width,
                        image_height, options.width, options.height),
            {}, "use --resize squash or leave the picture out");
  ResizePlan plan{static_cast<int>(width), static_cast<int>(height), {}};
  plan.crop = {centred_offset(plan.width, options.width),
               centred_offset(plan.height, options.height), options.width, options.height};
  return plan;
}

Image resize_and_crop(const Image& image, const PreprocessOptions& options) {
  const ResizePlan plan = plan_resize(image.width, image.height, options);
  return resize_window(image, plan.width, plan.height, plan.crop, options.filter);
}

Image resize_and_crop(const ImagePart& part, const PreprocessOptions& options) {
  const ResizePlan plan = plan_resize(part.whole_width, part.whole_height, options);
  return resize_window(part, plan.width, plan.height, plan.crop, options.filter);
}

PixelRect preprocess_source(int image_width, int image_height, const PreprocessOptions& options) {
  const ResizePlan plan = plan_resize(image_width, image_height, options);
  return window_source(image_width, image_height, plan.width, plan.height, plan.crop,
                       options.filter);
}

void normalize(const Image& image, const PreprocessOptions& options, float* chw) {
  const std::size_t plane =
      static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
  for (std::size_t c = 0; c < 3; ++c) {
    std::array<float, 256> table;
    for (std::size_t value = 0; value < table.size(); ++value) {
      const float scaled = static_cast<float>(value) / 255.0F;
      const float centred = scaled - options.mean[c];
      table[value] = centred / options.std[c];
    }
    float* to = chw + c * plane;
    const std::uint8_t* from = image.rgb.data() + c;
    for (std::size_t i = 0; i < plane; ++i) to[i] = table[from[3 * i]];
  }
}

}  // namespace ttt
