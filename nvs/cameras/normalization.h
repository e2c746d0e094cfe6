// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/cameras/camera.h"

#include <optional>
#include <span>
#include <string>

namespace ttt::nvs {

/// A change of world for cameras: c2w -> A c2w, then the positions divided by `scale`. It is kept
/// with a reconstruction, so that later cameras are mapped as the first ones were.
struct PoseNormalization {
  Transform to_normal;  ///< A: for scenes the inverse of the mean camera, for objects the fit
  double scale = 1;     ///< world units in one unit of the model
  std::string remark;   ///< what was done where the formula doesn't apply; empty otherwise

  Transform apply(Transform camera_to_world) const;
  Camera apply(Camera camera) const;
  /// The camera that apply() maps to this one.
  Camera undo(Camera camera) const;
};

/// The scene models' normalisation (LaCT: lact_nvs/data.py, normalize_with_mean_pose) over the
/// given cameras: the mean camera becomes the origin, the largest coordinate of a position 1.
/// Where it gives no answer, says so in `remark` and falls back: forward axes that cancel out, or a
/// mean forward axis along the mean up axis, to the first camera's forward axis level with the
/// mean up axis (or the first camera's axes, where that fails too); a single position to scale 1.
/// At least one camera.
PoseNormalization normalize_poses(std::span<const Camera> cameras);

/// The point with the least squared distance to all optical axes, where they are not parallel.
std::optional<Vector3> axes_center(std::span<const Camera> cameras);
/// The mean of the cameras' up axes (against OpenCV's y), as a unit vector; the first camera's
/// where they cancel out.
Vector3 mean_up(std::span<const Camera> cameras);

/// What fits a capture to the object models, which were trained on cameras 2.7 away from an object
/// at the origin, z up: the point closest to all optical axes goes to the origin, the mean up axis
/// to z, the mean distance to 2.7. Throws Error(input) when the cameras don't look at one point.
PoseNormalization fit_object(std::span<const Camera> cameras);

}  // namespace ttt::nvs
