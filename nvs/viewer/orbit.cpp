// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/viewer/orbit.h"

#include "core/error.h"
#include "nvs/cameras/normalization.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numbers>
#include <optional>

namespace ttt::nvs {
namespace {

constexpr double kRadians = std::numbers::pi / 180;

/// A camera's axes without roll, in the frame's axes. Unlike look_at(), it has no direction in
/// which it doesn't know what is up.
struct Level {
  Vector3 outward;  ///< from the pivot to the camera
  Vector3 right, down;
};

Level level_axes(double yaw, double pitch) {
  const double cy = std::cos(yaw), sy = std::sin(yaw);
  const double cp = std::cos(pitch), sp = std::sin(pitch);
  return {{cp * cy, cp * sy, sp}, {-sy, cy, 0}, {sp * cy, sp * sy, -cp}};
}

void check_view(const OrbitView& view) {
  const auto check = [](double value, double low, double high, const char* name) {
    TTT_CHECK(std::isfinite(value) && value >= low && value <= high, usage,
              fmt::format("{} is not within {} and {}", name, low, high), "view");
  };
  constexpr double kFar = 1e6;
  for (const double length : {view.pivot.x, view.pivot.y, view.pivot.z})
    check(length, -kFar, kFar, "pivot");
  check(view.yaw, -kFar, kFar, "yaw");
  check(view.pitch, -90, 90, "pitch");
  check(view.roll, -kFar, kFar, "roll");
  check(view.distance, 1e-6, kFar, "distance");
  check(view.field_of_view, 0.1, 179, "field_of_view");
  check(view.stretch, 1e-3, 1e3, "stretch");
  check(view.shift_x, -10, 10, "shift_x");
  check(view.shift_y, -10, 10, "shift_y");
}

/// The point that the cameras look at, if most of them have it in front.
std::optional<Vector3> center_ahead(std::span<const Camera> cameras) {
  const std::optional<Vector3> center = cameras.size() < 2 ? std::nullopt : axes_center(cameras);
  if (!center) return {};
  const auto ahead = std::count_if(cameras.begin(), cameras.end(), [&](const Camera& camera) {
    return dot(*center - camera.position(), camera.forward()) > 0;
  });
  return 2 * ahead > static_cast<std::ptrdiff_t>(cameras.size()) ? center : std::nullopt;
}

}  // namespace

Camera OrbitFrame::camera(const OrbitView& view, int width, int height) const {
  TTT_CHECK(width > 0 && height > 0, internal, "a camera without pixels");
  check_view(view);
  const Level level = level_axes(view.yaw * kRadians, view.pitch * kRadians);
  const double c = std::cos(view.roll * kRadians), s = std::sin(view.roll * kRadians);
  const Vector3 right = c * level.right + s * level.down;
  const Vector3 down = c * level.down - s * level.right;
  Camera camera;
  camera.width = width;
  camera.height = height;
  camera.camera_to_world = {axes * Matrix3::from_columns(right, down, -level.outward),
                            center + unit * (axes * (view.pivot + view.distance * level.outward))};
  const double focal = 0.5 / std::tan(view.field_of_view / 2 * kRadians);
  camera.intrinsics = {focal * width, focal * view.stretch * height, (0.5 + view.shift_x) * width,
                       (0.5 + view.shift_y) * height};
  return camera;
}

OrbitView OrbitFrame::view(const Camera& camera) const {
  constexpr double kNear = 0.05;  // units
  const Matrix3 turn = transpose(axes) * nearest_rotation(camera.camera_to_world.linear);
  const Vector3 right = turn.column(0), outward = -turn.column(2);
  const Vector3 position = (1 / unit) * (transpose(axes) * (camera.position() - center));
  OrbitView view;
  view.pitch = std::atan2(outward.z, std::hypot(outward.x, outward.y)) / kRadians;
  // Seen from a pole, only the picture's right side tells where yaw is.
  const bool pole = std::hypot(outward.x, outward.y) < 1e-6;
  view.yaw = (pole ? std::atan2(-right.x, right.y) : std::atan2(outward.y, outward.x)) / kRadians;
  const Level level = level_axes(view.yaw * kRadians, view.pitch * kRadians);
  view.roll = std::atan2(dot(right, level.down), dot(right, level.right)) / kRadians;
  view.distance = dot(position, outward);
  if (!(view.distance > kNear)) view.distance = 1;
  view.pivot = position - view.distance * outward;
  const Intrinsics& k = camera.intrinsics;
  view.field_of_view = horizontal_field_of_view(
      {{}, {k.fx, k.fy, camera.width / 2.0, 0}, camera.width, camera.height});
  view.stretch = (k.fy / camera.height) / (k.fx / camera.width);
  view.shift_x = k.cx / camera.width - 0.5;
  view.shift_y = k.cy / camera.height - 0.5;
  return view;
}

OrbitFrame orbit_frame(std::span<const Camera> cameras, double fallback_unit) {
  TTT_CHECK(!cameras.empty(), internal, "an orbit without cameras");
  const auto count = static_cast<double>(cameras.size());
  OrbitFrame frame;
  Vector3 mean, forward;
  for (const Camera& camera : cameras) {
    mean += (1 / count) * camera.position();
    forward += camera.forward();
  }
  if (const std::optional<Vector3> center = center_ahead(cameras)) {
    frame.center = *center;
    frame.unit = 0;
    for (const Camera& camera : cameras) frame.unit += length(camera.position() - *center) / count;
  } else {
    double extent = 0;
    for (const Camera& camera : cameras)
      extent = std::max(extent, length(camera.position() - mean));
    frame.unit = extent > 1e-9 * length(mean) && extent > 0 ? extent : fallback_unit;
    if (!(length(forward) > 1e-3 * count)) forward = cameras.front().forward();
    frame.center = mean + frame.unit * normalize(forward);
  }
  const Vector3 up = mean_up(cameras);
  Vector3 side = cameras.front().position() - frame.center;
  side = side - dot(side, up) * up;
  side = length(side) > 1e-6 * frame.unit ? normalize(side) : any_perpendicular(up);
  frame.axes = Matrix3::from_columns(side, cross(up, side), up);
  return frame;
}

}  // namespace ttt::nvs
