// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/cameras/camera.h"

#include <span>

namespace ttt::nvs {

/// A camera as someone moves it around a scene. Any camera can be written so: it looks from
/// `distance` at `pivot`. Angles are in degrees, lengths in the units of an OrbitFrame.
struct OrbitView {
  Vector3 pivot;     ///< in the frame's axes
  double yaw = 0;    ///< of the position as seen from the pivot, around the frame's up axis
  double pitch = 0;  ///< of the position above the pivot's horizon, -90 to 90
  double roll = 0;   ///< clockwise turn of the camera around its optical axis
  double distance = 1;
  double field_of_view = 50;  ///< horizontal, of a centred picture: 2 atan(width / (2 fx))
  double stretch = 1;         ///< (fy / height) / (fx / width)
  double shift_x = 0;         ///< of the principal point from the middle, in widths
  double shift_y = 0;         ///< in heights
};

/// The axes and units in which a scene is looked at: origin at what its cameras look at, z up, unit
/// the mean distance of the cameras.
struct OrbitFrame {
  Vector3 center;
  Matrix3 axes;  ///< columns: the directions of yaw 0 and 90, and up
  double unit = 1;

  /// The camera of a picture of a size; what it shows doesn't depend on the size. Throws
  /// Error(usage) for values that aren't finite or make no picture.
  Camera camera(const OrbitView& view, int width, int height) const;
  /// The view of a camera: camera() gives it back, but for shear. The pivot is the point of the
  /// optical axis closest to the origin, or one unit ahead where that lies behind the camera.
  OrbitView view(const Camera& camera) const;
};

/// The frame of a scene's cameras, with yaw 0 on the first one's side. Cameras that don't look at
/// one point in front of them get an origin ahead of their mean; `unit` is then their extent, or
/// `fallback_unit` when they are at one place. At least one camera.
OrbitFrame orbit_frame(std::span<const Camera> cameras, double fallback_unit = 1);

}  // namespace ttt::nvs
