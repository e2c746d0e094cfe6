// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "nvs/cameras/paths.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace ttt::nvs {
namespace {

double mix(double a, double b, double t) {
  return (1 - t) * a + t * b;
}

Intrinsics mix(const Intrinsics& a, const Intrinsics& b, double t) {
  return {mix(a.fx, b.fx, t), mix(a.fy, b.fy, t), mix(a.cx, b.cx, t), mix(a.cy, b.cy, t)};
}

Vector3 mix(const Vector3& a, const Vector3& b, double t) {
  return (1 - t) * a + t * b;
}

Transform mix_elements(const Transform& a, const Transform& b, double t) {
  Transform out;
  for (std::size_t i = 0; i < 9; ++i) out.linear.m[i] = mix(a.linear.m[i], b.linear.m[i], t);
  out.translation = mix(a.translation, b.translation, t);
  return out;
}

Quaternion product(const Quaternion& a, const Quaternion& b) {
  return {
      a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
      a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

Quaternion conjugate(const Quaternion& q) {
  return {q.w, -q.x, -q.y, -q.z};
}

/// The rotation vector (half angles) of a unit quaternion with w >= 0.
Vector3 logarithm(Quaternion q) {
  if (q.w < 0) q = {-q.w, -q.x, -q.y, -q.z};
  const Vector3 v{q.x, q.y, q.z};
  const double sine = length(v);
  return sine < 1e-12 ? v : (std::atan2(sine, q.w) / sine) * v;
}

Quaternion exponential(const Vector3& v) {
  const double angle = length(v);
  const double scale = angle < 1e-12 ? 1 : std::sin(angle) / angle;
  return {std::cos(angle), scale * v.x, scale * v.y, scale * v.z};
}

/// Shoemake's inner control point: what makes the speed continuous at `here`.
Quaternion control_point(const Quaternion& before, const Quaternion& here,
                         const Quaternion& after) {
  const Quaternion back = conjugate(here);
  const Vector3 sum = logarithm(product(back, before)) + logarithm(product(back, after));
  return product(here, exponential(-0.25 * sum));
}

/// The spline from camera i to i + 1; at the ends the outer neighbour is the end itself.
class Spline {
 public:
  explicit Spline(std::span<const Camera> cameras) : cameras_(cameras) {
    for (const Camera& camera : cameras) {
      Quaternion q = quaternion(camera.camera_to_world.linear);
      // On one side of the double cover, so that neighbours are close.
      if (!rotations_.empty() && dot(rotations_.back(), q) < 0) q = {-q.w, -q.x, -q.y, -q.z};
      rotations_.push_back(q);
    }
    const std::size_t last = rotations_.size() - 1;
    for (std::size_t i = 0; i <= last; ++i)
      controls_.push_back(control_point(rotations_[i == 0 ? 0 : i - 1], rotations_[i],
                                        rotations_[std::min(i + 1, last)]));
  }

  Transform at(std::size_t i, double t) const {
    const Quaternion outer = slerp(rotations_[i], rotations_[i + 1], t);
    const Quaternion inner = slerp(controls_[i], controls_[i + 1], t);
    const Vector3& a = position(i == 0 ? 0 : i - 1);
    const Vector3& b = position(i);
    const Vector3& c = position(i + 1);
    const Vector3& d = position(std::min(i + 2, cameras_.size() - 1));
    const double t2 = t * t, t3 = t2 * t;
    const Vector3 place = 0.5 * ((2 * b) + t * (c - a) + t2 * (2 * a - 5 * b + 4 * c - d) +
                                 t3 * (3 * b - a - 3 * c + d));
    return {rotation(slerp(outer, inner, 2 * t * (1 - t))), place};
  }

 private:
  const Vector3& position(std::size_t i) const { return cameras_[i].camera_to_world.translation; }

  std::span<const Camera> cameras_;
  std::vector<Quaternion> rotations_;
  std::vector<Quaternion> controls_;
};

}  // namespace

std::vector<Camera> interpolated_path(std::span<const Camera> cameras, int between,
                                      Interpolation mode) {
  TTT_CHECK(!cameras.empty(), internal, "a path without cameras");
  TTT_CHECK(between >= 0 && between <= 10'000, usage,
            fmt::format("{} frames between cameras", between), {}, "give 0 to 10000");
  for (const Camera& camera : cameras)
    TTT_CHECK(mode == Interpolation::linear || determinant(camera.camera_to_world.linear) > 0,
              input, "a camera's axes are left-handed, so it has no rotation", {},
              "use the linear interpolation, or correct the poses");
  const Spline spline(mode == Interpolation::linear ? cameras.first(1) : cameras);
  std::vector<Camera> path;
  for (std::size_t i = 0; i + 1 < cameras.size(); ++i) {
    const Camera& a = cameras[i];
    const Camera& b = cameras[i + 1];
    path.push_back({a.camera_to_world, a.intrinsics, cameras[0].width, cameras[0].height});
    for (int k = 1; k <= between; ++k) {
      const double t = static_cast<double>(k) / (between + 1);
      Camera camera{{}, mix(a.intrinsics, b.intrinsics, t), cameras[0].width, cameras[0].height};
      if (mode == Interpolation::linear) {
        camera.camera_to_world = mix_elements(a.camera_to_world, b.camera_to_world, t);
      } else if (mode == Interpolation::spline) {
        camera.camera_to_world = spline.at(i, t);
      } else {
        const Quaternion q =
            slerp(quaternion(a.camera_to_world.linear), quaternion(b.camera_to_world.linear), t);
        camera.camera_to_world = {rotation(q), mix(a.position(), b.position(), t)};
      }
      path.push_back(camera);
    }
  }
  const Camera& last = cameras.back();
  path.push_back({last.camera_to_world, last.intrinsics, cameras[0].width, cameras[0].height});
  return path;
}

}  // namespace ttt::nvs
