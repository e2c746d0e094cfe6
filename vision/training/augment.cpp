// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/training/augment.h"

#include "vision/training/rand_augment.h"

#include <algorithm>
#include <cmath>

namespace ttt::vision {
namespace {

/// torchvision's RandomResizedCrop: ten tries for a rectangle that fits, else the centre.
PixelRect random_rectangle(const Image& image, const AugmentOptions& options,
                           training::Random& random) {
  constexpr int kTries = 10;
  const double area = static_cast<double>(image.width) * image.height;
  for (int i = 0; i < kTries; ++i) {
    const double target = area * random.uniform(options.min_scale, options.max_scale);
    const double ratio =
        std::exp(random.uniform(std::log(options.min_ratio), std::log(options.max_ratio)));
    const int width = static_cast<int>(std::lround(std::sqrt(target * ratio)));
    const int height = static_cast<int>(std::lround(std::sqrt(target / ratio)));
    if (width <= 0 || height <= 0 || width > image.width || height > image.height) continue;
    return {static_cast<int>(random.below(image.width - width + 1)),
            static_cast<int>(random.below(image.height - height + 1)), width, height};
  }
  const double ratio = static_cast<double>(image.width) / image.height;
  int width = image.width, height = image.height;
  if (ratio < options.min_ratio)
    height = std::min(height, static_cast<int>(std::lround(width / options.min_ratio)));
  if (ratio > options.max_ratio)
    width = std::min(width, static_cast<int>(std::lround(height * options.max_ratio)));
  return {(image.width - width) / 2, (image.height - height) / 2, width, height};
}

/// A window of the picture padded with black, moved by (left, top) from the padded corner.
Image padded_window(const Image& image, int padding, int left, int top) {
  Image result{image.width, image.height, {}};
  result.rgb.assign(image.rgb.size(), 0);
  const int shift_x = left - padding, shift_y = top - padding;
  const int first = std::max(0, -shift_x), last = std::min(image.width, image.width - shift_x);
  for (int y = 0; y < image.height; ++y) {
    const int from = y + shift_y;
    if (from < 0 || from >= image.height || first >= last) continue;
    std::copy(image.row(from) + 3 * (first + shift_x), image.row(from) + 3 * (last + shift_x),
              result.row(y) + 3 * first);
  }
  return result;
}

Image cut(const Image& image, const AugmentOptions& options, training::Random& random) {
  const PreprocessOptions& target = options.preprocess;
  switch (options.crop) {
    case CropRule::random_resized: {
      const Image part = crop(image, random_rectangle(image, options, random));
      return resize(part, target.width, target.height, target.filter);
    }
    case CropRule::pad_and_crop: {
      const Image whole = image.width == target.width && image.height == target.height
                              ? image
                              : resize_and_crop(image, target);
      const int left = static_cast<int>(random.below(2 * options.padding + 1));
      const int top = static_cast<int>(random.below(2 * options.padding + 1));
      return padded_window(whole, options.padding, left, top);
    }
    default:
      return resize_and_crop(image, target);
  }
}

void flip_horizontally(Image& image) {
  for (int y = 0; y < image.height; ++y)
    for (int left = 0, right = image.width - 1; left < right; ++left, --right)
      std::swap_ranges(image.row(y) + 3 * left, image.row(y) + 3 * left + 3,
                       image.row(y) + 3 * right);
}

/// timm's RandomErasing, mode "pixel": one box of 2 to 33 % of the area, filled with normal noise.
void erase_box(int width, int height, training::Random& random, float* chw) {
  constexpr int kTries = 10;
  constexpr double kMinArea = 0.02, kMaxArea = 1.0 / 3.0, kMinAspect = 0.3;
  const double area = static_cast<double>(width) * height;
  for (int i = 0; i < kTries; ++i) {
    const double target = random.uniform(kMinArea, kMaxArea) * area;
    const double aspect =
        std::exp(random.uniform(std::log(kMinAspect), std::log(1.0 / kMinAspect)));
    const int box_height = static_cast<int>(std::lround(std::sqrt(target * aspect)));
    const int box_width = static_cast<int>(std::lround(std::sqrt(target / aspect)));
    if (box_width >= width || box_height >= height) continue;
    const auto top = random.below(height - box_height + 1);
    const auto left = random.below(width - box_width + 1);
    for (int c = 0; c < 3; ++c)
      for (std::int64_t y = top; y < top + box_height; ++y)
        for (std::int64_t x = left; x < left + box_width; ++x)
          chw[(c * height + y) * width + x] = static_cast<float>(random.normal());
    return;
  }
}

}  // namespace

Image augment_pixels(const Image& image, const AugmentOptions& options, training::Random& random) {
  Image result = cut(image, options, random);
  if (random.chance(options.flip)) flip_horizontally(result);
  if (options.rand_augment_ops > 0) rand_augment(result, options, random);
  return result;
}

void augment(const Image& image, const AugmentOptions& options, training::Random& random,
             float* chw) {
  const Image pixels = augment_pixels(image, options, random);
  normalize(pixels, options.preprocess, chw);
  if (random.chance(options.erase)) erase_box(pixels.width, pixels.height, random, chw);
}

}  // namespace ttt::vision
