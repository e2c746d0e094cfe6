// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/cameras/crop.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

namespace ttt::nvs {

CropPlan plan_crop(int width, int height, int target_width, int target_height) {
  TTT_CHECK(width > 0 && height > 0 && target_width > 0 && target_height > 0, internal,
            "crop of or to an empty picture");
  CropPlan plan;
  plan.scale = std::max(static_cast<double>(target_width) / width,
                        static_cast<double>(target_height) / height);
  // Rounded half to even, like Python's round().
  const double scaled_width = std::nearbyint(width * plan.scale);
  const double scaled_height = std::nearbyint(height * plan.scale);
  constexpr double kMaxSide = 1 << 28;
  TTT_CHECK(scaled_width <= kMaxSide && scaled_height <= kMaxSide, input,
            fmt::format("a picture of {}x{} is too long and thin for {}x{}", width, height,
                        target_width, target_height));
  plan.width = std::max(static_cast<int>(scaled_width), target_width);
  plan.height = std::max(static_cast<int>(scaled_height), target_height);
  plan.window = {(plan.width - target_width) / 2, (plan.height - target_height) / 2, target_width,
                 target_height};
  return plan;
}

Intrinsics crop_intrinsics(const Intrinsics& k, const CropPlan& plan) {
  return {k.fx * plan.scale, k.fy * plan.scale, k.cx * plan.scale - plan.window.left,
          k.cy * plan.scale - plan.window.top};
}

Camera cropped(const Camera& camera, int width, int height) {
  const CropPlan plan = plan_crop(camera.width, camera.height, width, height);
  return {camera.camera_to_world, crop_intrinsics(camera.intrinsics, plan), width, height};
}

}  // namespace ttt::nvs
