// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/cameras/normalization.h"

#include "core/error.h"

#include <algorithm>

namespace ttt::nvs {
namespace {

struct Means {
  Vector3 forward, down, position;
};

Means means_of(std::span<const Camera> cameras) {
  Means sum;
  for (const Camera& camera : cameras) {
    sum.forward += camera.forward();
    sum.down += camera.down();
    sum.position += camera.position();
  }
  const double share = 1.0 / static_cast<double>(cameras.size());
  return {share * sum.forward, share * sum.down, share * sum.position};
}

/// The axes of the mean camera as columns, or those of a fallback with a remark.
Matrix3 mean_axes(std::span<const Camera> cameras, const Means& means, std::string& remark) {
  constexpr double kCancelled = 1e-3;  // of axes that are about 1 long
  const auto axes = [](const Vector3& forward, const Vector3& down) {
    const Vector3 z = normalize(forward);
    const Vector3 x = normalize(cross(down, z));
    return Matrix3::from_columns(x, normalize(cross(z, x)), z);
  };
  const bool forward = length(means.forward) > kCancelled;
  if (forward && length(cross(means.down, normalize(means.forward))) > kCancelled)
    return axes(means.forward, means.down);
  remark = forward ? "the mean forward axis lies along the mean up axis"
                   : "the cameras' forward axes cancel out";
  const Camera& first = cameras.front();
  const Vector3 up = -means.down;
  if (length(up) > kCancelled) {
    // Level with the mean up axis: forward without its part along up.
    const Vector3 y = normalize(up);
    const Vector3 level = first.forward() - dot(first.forward(), y) * y;
    if (length(level) > kCancelled) {
      remark += "; took the first camera's, level with the mean up axis";
      return axes(level, means.down);
    }
  }
  remark += "; took the first camera's axes";
  return axes(first.forward(), first.down());
}

}  // namespace

Transform PoseNormalization::apply(Transform camera_to_world) const {
  camera_to_world = to_normal * camera_to_world;
  camera_to_world.translation = (1 / scale) * camera_to_world.translation;
  return camera_to_world;
}

Camera PoseNormalization::apply(Camera camera) const {
  camera.camera_to_world = apply(camera.camera_to_world);
  return camera;
}

Camera PoseNormalization::undo(Camera camera) const {
  Transform& pose = camera.camera_to_world;
  pose.translation = scale * pose.translation;
  pose = inverse(to_normal) * pose;
  return camera;
}

PoseNormalization normalize_poses(std::span<const Camera> cameras) {
  TTT_CHECK(!cameras.empty(), internal, "normalisation without cameras");
  const Means means = means_of(cameras);
  PoseNormalization out;
  const Matrix3 axes = mean_axes(cameras, means, out.remark);
  out.to_normal = inverse(Transform{axes, means.position});
  TTT_CHECK(is_finite(out.to_normal), input, "the cameras' poses have no mean");
  double largest = 0;
  double world = 0;
  for (const Camera& camera : cameras) {
    const Vector3 p = out.to_normal * camera.position();
    largest = std::max({largest, std::abs(p.x), std::abs(p.y), std::abs(p.z)});
    world = std::max(world, length(camera.position()));
  }
  // Differences that are rounding errors of the positions are none.
  if (largest > 1e-9 * world && largest > 0) {
    out.scale = largest;
  } else {
    out.remark += out.remark.empty() ? "" : "; ";
    out.remark += "all cameras are at one place, so the scale stays 1";
  }
  return out;
}

std::optional<Vector3> axes_center(std::span<const Camera> cameras) {
  // Sum of (I - d d^T) (x - p) = 0.
  Matrix3 sum{{0, 0, 0, 0, 0, 0, 0, 0, 0}};
  Vector3 right;
  for (const Camera& camera : cameras) {
    const Vector3 d = normalize(camera.forward());
    const Matrix3 projection{{1 - d.x * d.x, -d.x * d.y, -d.x * d.z, -d.y * d.x, 1 - d.y * d.y,
                              -d.y * d.z, -d.z * d.x, -d.z * d.y, 1 - d.z * d.z}};
    for (std::size_t i = 0; i < 9; ++i) sum.m[i] += projection.m[i];
    right += projection * camera.position();
  }
  const auto count = static_cast<double>(cameras.size());
  // The determinant of the mean is about the squared angle between the axes.
  if (!(determinant(sum) / (count * count * count) > 1e-6)) return {};
  return inverse(sum) * right;
}

Vector3 mean_up(std::span<const Camera> cameras) {
  const Vector3 up = -means_of(cameras).down;
  return length(up) > 1e-3 ? normalize(up) : normalize(-cameras.front().down());
}

PoseNormalization fit_object(std::span<const Camera> cameras) {
  constexpr double kRadius = 2.7;
  const std::optional<Vector3> center = cameras.size() < 2 ? std::nullopt : axes_center(cameras);
  TTT_CHECK(center.has_value(), input, "the cameras don't look at one point", {},
            "use the scene mode, which needs no object in the middle");
  double distance = 0;
  int behind = 0;
  for (const Camera& camera : cameras) {
    const Vector3 to_center = *center - camera.position();
    distance += length(to_center) / static_cast<double>(cameras.size());
    behind += dot(to_center, camera.forward()) <= 0 ? 1 : 0;
  }
  TTT_CHECK(distance > 0 && 2 * behind < static_cast<int>(cameras.size()), input,
            "the cameras look away from their common point", {},
            "use the scene mode, which needs no object in the middle");
  PoseNormalization out;
  const Matrix3 turn = rotation_between(mean_up(cameras), {0, 0, 1});
  out.to_normal = {turn, -(turn * *center)};
  out.scale = distance / kRadius;
  return out;
}

}  // namespace ttt::nvs
