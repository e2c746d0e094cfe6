// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/model/posed_views.h"

#include "core/error.h"

#include <ATen/ATen.h>

#include <cstring>

namespace ttt::nvs {

CameraTensors CameraTensors::narrow(std::int64_t first, std::int64_t count) const {
  return {c2w.narrow(0, first, count), fxfycxcy.narrow(0, first, count), height, width};
}

CameraTensors camera_tensors(std::span<const Camera> cameras) {
  TTT_CHECK(!cameras.empty(), usage, "there are no cameras", "", "choose at least one view");
  const auto count = static_cast<std::int64_t>(cameras.size());
  CameraTensors result{at::empty({count, 4, 4}, at::kFloat), at::empty({count, 4}, at::kFloat),
                       cameras[0].height, cameras[0].width};
  float* pose = result.c2w.mutable_data_ptr<float>();
  float* intrinsics = result.fxfycxcy.mutable_data_ptr<float>();
  for (const Camera& camera : cameras) {
    TTT_CHECK(camera.width == cameras[0].width && camera.height == cameras[0].height, usage,
              "cameras of different picture sizes in one call", "", "bring all views to one size");
    for (const double value : matrix4(camera.camera_to_world)) *pose++ = static_cast<float>(value);
    const Intrinsics& k = camera.intrinsics;
    for (const double value : {k.fx, k.fy, k.cx, k.cy}) *intrinsics++ = static_cast<float>(value);
  }
  return result;
}

at::Tensor image_bytes(std::span<const Image* const> images) {
  TTT_CHECK(!images.empty(), usage, "there are no pictures", "", "choose at least one view");
  const int width = images[0]->width, height = images[0]->height;
  const at::Tensor bytes =
      at::empty({static_cast<std::int64_t>(images.size()), height, width, 3}, at::kByte);
  auto* to = bytes.mutable_data_ptr<std::uint8_t>();
  for (const Image* image : images) {
    TTT_CHECK(image->width == width && image->height == height, usage,
              "pictures of different sizes in one call", "", "bring all views to one size");
    std::memcpy(to, image->rgb.data(), image->rgb.size());
    to += image->rgb.size();
  }
  return bytes.permute({0, 3, 1, 2});
}

}  // namespace ttt::nvs
