// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/cameras/paths.h"

#include "core/error.h"
#include "nvs/cameras/crop.h"
#include "nvs/cameras/normalization.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <numbers>
#include <optional>

namespace ttt::nvs {
namespace {

constexpr double kRadians = std::numbers::pi / 180;

void check_path(int frames, std::span<const Camera> cameras) {
  TTT_CHECK(frames >= 1 && frames <= 100'000, usage, fmt::format("a path of {} frames", frames), {},
            "give 1 to 100000 frames");
  TTT_CHECK(!cameras.empty(), internal, "a path without cameras");
}

double mean_distance(std::span<const Camera> cameras, const Vector3& center) {
  double sum = 0;
  for (const Camera& camera : cameras) sum += length(camera.position() - center);
  return sum / static_cast<double>(cameras.size());
}

}  // namespace

std::vector<Camera> turntable_path(const TurntableOptions& options) {
  TTT_CHECK(options.frames >= 2 && options.frames <= 100'000, usage,
            fmt::format("a turntable of {} frames", options.frames), {}, "give 2 to 100000 frames");
  TTT_CHECK(options.field_of_view > 0 && options.field_of_view < 180, usage,
            fmt::format("a field of view of {} degrees", options.field_of_view), {},
            "give 1 to 179 degrees");
  const double half_range = (options.radius_max - options.radius_min) / 2;
  const double middle = (options.radius_max + options.radius_min) / 2;
  constexpr double kSwing = 15;  // degrees of elevation
  std::vector<Camera> path;
  for (int k = 0; k < options.frames; ++k) {
    // The azimuth leaves out the end point, the swing includes it.
    const double azimuth = 2 * std::numbers::pi * k / options.frames;
    const double swing = std::sin(2 * std::numbers::pi * k / (options.frames - 1));
    const double elevation = (options.elevation + kSwing * swing) * kRadians;
    const double radius = middle + half_range * swing;
    const Vector3 position =
        radius * Vector3{std::cos(elevation) * std::cos(azimuth),
                         std::cos(elevation) * std::sin(azimuth), std::sin(elevation)};
    const int width = options.swap_size ? options.height : options.width;
    const int height = options.swap_size ? options.width : options.height;
    path.push_back({look_at(position, {}, options.up),
                    intrinsics_from_field_of_view(options.field_of_view, width, height),
                    options.width, options.height});
  }
  return path;
}

std::vector<Camera> orbit_path(std::span<const Camera> cameras, int frames, int width, int height,
                               const std::optional<Vector3>& otherwise) {
  check_path(frames, cameras);
  std::optional<Vector3> center = axes_center(cameras);
  if (!center.has_value()) center = otherwise;
  TTT_CHECK(center.has_value(), input, "the cameras don't look at one point to circle around", {},
            "use a spiral or an interpolated path");
  const Vector3 up = mean_up(cameras);
  const double radius = mean_distance(cameras, *center);
  double height_sum = 0;
  for (const Camera& camera : cameras) height_sum += dot(camera.position() - *center, up);
  const double rise =
      std::clamp(height_sum / static_cast<double>(cameras.size()), -0.99 * radius, 0.99 * radius);
  const double reach = std::sqrt(radius * radius - rise * rise);
  Vector3 side = cameras.front().position() - *center;
  side = side - dot(side, up) * up;
  side = length(side) > 1e-6 * radius ? normalize(side) : any_perpendicular(up);
  const Vector3 other = cross(up, side);
  const Intrinsics k = cropped(cameras.front(), width, height).intrinsics;
  std::vector<Camera> path;
  for (int i = 0; i < frames; ++i) {
    const double azimuth = 2 * std::numbers::pi * i / frames;
    const Vector3 position =
        *center + rise * up + reach * std::cos(azimuth) * side + reach * std::sin(azimuth) * other;
    path.push_back({look_at(position, *center, up), k, width, height});
  }
  return path;
}

std::vector<Camera> spiral_path(std::span<const Camera> cameras, int frames, int width,
                                int height) {
  check_path(frames, cameras);
  const PoseNormalization mean = normalize_poses(cameras);
  const Transform mean_camera = inverse(mean.to_normal);
  // Offsets from the mean camera in its own axes, and how far away things are.
  std::array<std::vector<double>, 3> offsets;
  for (const Camera& camera : cameras) {
    const Vector3 p = mean.to_normal * camera.position();
    offsets[0].push_back(std::abs(p.x));
    offsets[1].push_back(std::abs(p.y));
    offsets[2].push_back(std::abs(p.z));
  }
  std::array<double, 3> spread{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::vector<double>& values = offsets[axis];
    const auto rank =
        static_cast<std::ptrdiff_t>(0.9 * static_cast<double>(values.size() - 1) + 0.5);
    std::nth_element(values.begin(), values.begin() + rank, values.end());
    spread[axis] = values[static_cast<std::size_t>(rank)];
  }
  const std::optional<Vector3> center = axes_center(cameras);
  double depth = center.has_value() ? (mean.to_normal * *center).z : 0;
  const double widest = std::max({spread[0], spread[1], spread[2], 1e-6 * mean.scale});
  // Parallel or diverging axes: far away in terms of the path's size.
  if (!(depth > widest)) depth = 10 * widest;
  const Vector3 target = mean_camera * Vector3{0, 0, depth};
  const Vector3 up = -mean_camera.linear.column(1);
  const Intrinsics k = cropped(cameras.front(), width, height).intrinsics;
  constexpr int kTurns = 2;
  std::vector<Camera> path;
  for (int i = 0; i < frames; ++i) {
    const double angle = 2 * std::numbers::pi * kTurns * i / frames;
    const Vector3 offset{spread[0] * std::cos(angle), -spread[1] * std::sin(angle),
                         -spread[2] * std::sin(0.5 * angle)};
    path.push_back({look_at(mean_camera * offset, target, up), k, width, height});
  }
  return path;
}

}  // namespace ttt::nvs
