// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"
#include "nvs/cameras/camera.h"

namespace ttt::nvs {

/// Resize-and-crop of the official loader: scaled by s = max(width / w, height / h), both sides
/// rounded half to even, cut around the centre (offsets rounded down). The matrix follows the
/// unrounded s.
struct CropPlan {
  int width = 0, height = 0;  ///< of the scaled picture
  PixelRect window;
  double scale = 1;
};
/// Throws Error(input) for pictures that are too long and thin, Error(usage) for absurd targets.
CropPlan plan_crop(int width, int height, int target_width, int target_height);
Intrinsics crop_intrinsics(const Intrinsics& intrinsics, const CropPlan& plan);
/// The camera of the picture scaled and cut to another size.
Camera cropped(const Camera& camera, int width, int height);

}  // namespace ttt::nvs
