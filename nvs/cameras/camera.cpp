// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/cameras/camera.h"

#include <numbers>

namespace ttt::nvs {
namespace {

double field_of_view(double focal, double centre, int size) {
  return (std::atan(centre / focal) + std::atan((size - centre) / focal)) * 180 / std::numbers::pi;
}

}  // namespace

double horizontal_field_of_view(const Camera& camera) {
  return field_of_view(camera.intrinsics.fx, camera.intrinsics.cx, camera.width);
}

double vertical_field_of_view(const Camera& camera) {
  return field_of_view(camera.intrinsics.fy, camera.intrinsics.cy, camera.height);
}

Intrinsics intrinsics_from_field_of_view(double degrees, int width, int height) {
  const double focal = width / (2 * std::tan(degrees * std::numbers::pi / 180 / 2));
  return {focal, focal, width / 2.0, height / 2.0};
}

Transform look_at(const Vector3& position, const Vector3& target, const Vector3& up) {
  const Vector3 forward = normalize(target - position);
  Vector3 right = cross(forward, up);
  right = length(right) > 1e-9 * length(up) ? normalize(right) : any_perpendicular(forward);
  const Vector3 upwards = normalize(cross(right, forward));
  return {Matrix3::from_columns(right, -upwards, forward), position};
}

}  // namespace ttt::nvs
