// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/cameras/geometry.h"

#include <cstdint>

namespace ttt::nvs {

/// A pinhole camera's matrix in pixels; pixel (i, j) has its centre at (j + 0.5, i + 0.5).
struct Intrinsics {
  double fx = 0, fy = 0, cx = 0, cy = 0;
  bool operator==(const Intrinsics&) const = default;
};

/// A camera whose picture has width x height pixels. Axes as in OpenCV: x right, y down, z forward.
struct Camera {
  Transform camera_to_world;
  Intrinsics intrinsics;
  int width = 0;
  int height = 0;

  Vector3 position() const { return camera_to_world.translation; }
  Vector3 right() const { return camera_to_world.linear.column(0); }
  Vector3 down() const { return camera_to_world.linear.column(1); }
  Vector3 forward() const { return camera_to_world.linear.column(2); }
};

/// Degrees between the left and right, or upper and lower, border.
double horizontal_field_of_view(const Camera& camera);
double vertical_field_of_view(const Camera& camera);

/// The centred square-pixel intrinsics of a horizontal field of view in degrees.
Intrinsics intrinsics_from_field_of_view(double degrees, int width, int height);

/// A camera at `position` that looks at `target`, with `up` upwards in the picture. When it looks
/// along `up`, any direction is up.
Transform look_at(const Vector3& position, const Vector3& target, const Vector3& up);

}  // namespace ttt::nvs
