// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/model/patches.h"

#include "core/error.h"
#include "nvs/model/config.h"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>

namespace ttt::nvs {
namespace {

constexpr std::int64_t kMaxSide = 1 << 15;

/// Positions of pixel centres along one side, split into patches: [count / P, P].
at::Tensor centres(std::int64_t count, std::int64_t patch, const at::TensorOptions& options) {
  return (at::arange(count, options) + 0.5).view({count / patch, patch});
}

/// One number a camera, to be broadcast over rows, columns and pixels of patches.
at::Tensor per_view(const at::Tensor& values) {
  return values.view({-1, 1, 1, 1, 1});
}

/// Channels 0 to 8 of [V, hh, ww, P, P, 12].
void write_rays(const CameraTensors& cameras, std::int64_t patch, const at::Tensor& pixels) {
  const at::TensorOptions options = pixels.options();
  const at::Tensor c2w = cameras.c2w.to(options);
  const at::Tensor k = cameras.fxfycxcy.to(options);
  const at::Tensor columns = centres(cameras.width, patch, options).view({1, 1, -1, 1, patch});
  const at::Tensor rows = centres(cameras.height, patch, options).view({1, -1, 1, patch, 1});
  const at::Tensor x = (columns - per_view(k.select(1, 2))) / per_view(k.select(1, 0));
  const at::Tensor y = (rows - per_view(k.select(1, 3))) / per_view(k.select(1, 1));
  std::array<at::Tensor, 3> direction, origin;
  at::Tensor length;
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto entry = [&](std::int64_t j) { return per_view(c2w.select(1, i).select(1, j)); };
    // Two factors of the sum depend on one side alone.
    const at::Tensor along_x = entry(0) * x, along_y = entry(1) * y + entry(2);
    direction[static_cast<std::size_t>(i)] = along_x + along_y;  // [V, hh, ww, P, P]
    origin[static_cast<std::size_t>(i)] = entry(3);
    const at::Tensor square = direction[static_cast<std::size_t>(i)].square();
    length = i == 0 ? square : length.add_(square);
  }
  length.sqrt_();
  for (std::size_t i = 0; i < 3; ++i) {
    const auto channel = static_cast<std::int64_t>(i);
    direction[i].div_(length);
    pixels.select(5, channel).copy_(origin[i].expand(direction[i].sizes()));
    pixels.select(5, 3 + channel).copy_(direction[i]);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t j = (i + 1) % 3, k3 = (i + 2) % 3;
    pixels.select(5, 6 + static_cast<std::int64_t>(i))
        .copy_(origin[j] * direction[k3] - origin[k3] * direction[j]);
  }
}

/// Channels 9 to 11.
void write_colours(const at::Tensor& images, std::int64_t patch, const at::Tensor& pixels) {
  const std::int64_t hh = images.size(2) / patch, ww = images.size(3) / patch;
  const at::Tensor colours = images.to(pixels.options(), /*non_blocking=*/false, /*copy=*/true);
  if (images.scalar_type() == at::kByte) at::Tensor(colours).div_(255);
  at::Tensor(colours).mul_(2).sub_(1);
  pixels.narrow(5, kRayChannels, 3)
      .copy_(colours.reshape({images.size(0), 3, hh, patch, ww, patch})
                 .permute({0, 2, 4, 3, 5, 1}));  // [V, hh, ww, P, P, 3]
}

}  // namespace

void check_picture_size(std::int64_t width, std::int64_t height, std::int64_t patch_size,
                        const char* flag) {
  const auto legal = [&](std::int64_t side) {
    return std::max<std::int64_t>(1, (side + patch_size / 2) / patch_size) * patch_size;
  };
  TTT_CHECK(width > 0 && height > 0 && width <= kMaxSide && height <= kMaxSide &&
                width % patch_size == 0 && height % patch_size == 0,
            usage, fmt::format("pictures of {}x{} pixels don't fit the model", width, height), flag,
            fmt::format("use multiples of {}, such as {}x{}", patch_size,
                        legal(std::min(width, kMaxSide)), legal(std::min(height, kMaxSide))));
}

at::Tensor patch_operand(const CameraTensors& cameras, const at::Tensor& images,
                         std::int64_t patch_size, at::ScalarType dtype) {
  check_picture_size(cameras.width, cameras.height, patch_size);
  const std::int64_t views = cameras.c2w.size(0);
  TTT_CHECK(cameras.c2w.sizes() == at::IntArrayRef({views, 4, 4}) &&
                cameras.fxfycxcy.sizes() == at::IntArrayRef({views, 4}),
            usage, "cameras have other shapes than [V, 4, 4] and [V, 4]", "novel views",
            "pass one pose and one matrix for each view");
  TTT_CHECK(!images.defined() ||
                images.sizes() == at::IntArrayRef({views, 3, cameras.height, cameras.width}),
            usage, "pictures don't fit their cameras", "novel views",
            "pass pictures [V, 3, H, W], one for each camera");
  const std::int64_t hh = cameras.height / patch_size, ww = cameras.width / patch_size;
  const at::TensorOptions options = cameras.c2w.options().dtype(dtype);
  const std::vector<std::int64_t> shape{views, hh, ww, patch_size, patch_size, kPixelChannels};
  const at::Tensor pixels =
      images.defined() ? at::empty(shape, options) : at::zeros(shape, options);
  write_rays(cameras, patch_size, pixels);
  if (images.defined()) write_colours(images, patch_size, pixels);
  return pixels.view({views, hh * ww, patch_size * patch_size * kPixelChannels});
}

at::Tensor unpatchify(const at::Tensor& patches, std::int64_t height, std::int64_t width,
                      std::int64_t patch_size) {
  const std::int64_t hh = height / patch_size, ww = width / patch_size;
  return patches.reshape({-1, hh, ww, patch_size, patch_size, 3})
      .permute({0, 5, 1, 3, 2, 4})  // [V, 3, hh, P, ww, P]
      .reshape({-1, 3, height, width});
}

}  // namespace ttt::nvs
