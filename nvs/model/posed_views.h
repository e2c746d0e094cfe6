// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"
#include "nvs/cameras/camera.h"

#include <ATen/core/Tensor.h>

#include <span>

namespace ttt::nvs {

/// Cameras of one picture size as tensors, with any leading dimensions.
struct CameraTensors {
  at::Tensor c2w;       ///< [..., 4, 4], OpenCV axes; rotations are used as they are
  at::Tensor fxfycxcy;  ///< [..., 4], pixels; centres at 0.5
  std::int64_t height = 0;
  std::int64_t width = 0;

  std::int64_t views() const { return c2w.size(0); }
  CameraTensors narrow(std::int64_t first, std::int64_t count) const;
};

/// [V, 4, 4] and [V, 4] in float, rounded once, as the official loader does.
CameraTensors camera_tensors(std::span<const Camera> cameras);

/// Input views: cameras and what they see.
struct PosedViews {
  CameraTensors cameras;
  /// [V, 3, H, W] in 0 to 1, or bytes (then divided by 255). Any strides.
  at::Tensor images;
};

/// [V, 3, H, W] bytes, stored as the pictures are (channel last); every picture has one size.
at::Tensor image_bytes(std::span<const Image* const> images);

}  // namespace ttt::nvs
