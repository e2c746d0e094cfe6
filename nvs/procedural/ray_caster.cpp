// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/procedural/ray_caster.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace ttt::nvs {
namespace {

/// Nearer hits are those of the surface that a ray starts from.
constexpr double kNearest = 1e-6;
constexpr double kNever = std::numeric_limits<double>::infinity();

/// A hit in a primitive's own coordinates.
struct LocalHit {
  double distance = kNever;
  Vector3 normal;

  void consider(double t, const Vector3& candidate) {
    if (t > kNearest && t < distance) distance = t, normal = candidate;
  }
};

struct Roots {
  double near = kNever, far = kNever;
};

/// a t^2 + 2 b t + c = 0, no roots: both infinite.
Roots roots(double a, double b, double c) {
  const double discriminant = b * b - a * c;
  if (a == 0 || discriminant < 0) return {};
  const double root = std::sqrt(discriminant);
  const double t0 = (-b - root) / a, t1 = (-b + root) / a;
  return {std::min(t0, t1), std::max(t0, t1)};
}

LocalHit hit_ellipsoid(const Vector3& s, const Vector3& o, const Vector3& d) {
  const Vector3 q{o.x / s.x, o.y / s.y, o.z / s.z}, r{d.x / s.x, d.y / s.y, d.z / s.z};
  const Roots t = roots(dot(r, r), dot(q, r), dot(q, q) - 1);
  LocalHit hit;
  for (const double at : {t.near, t.far}) {
    if (at == kNever) continue;
    const Vector3 p = q + at * r;  // on the unit sphere
    hit.consider(at, {p.x / s.x, p.y / s.y, p.z / s.z});
  }
  return hit;
}

LocalHit hit_box(const Vector3& s, const Vector3& o, const Vector3& d) {
  const std::array<double, 3> size{s.x, s.y, s.z}, origin{o.x, o.y, o.z}, way{d.x, d.y, d.z};
  double enter = -kNever, leave = kNever;
  std::size_t enter_axis = 0, leave_axis = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    if (way[i] == 0) {
      if (std::abs(origin[i]) > size[i]) return {};
      continue;
    }
    const double t0 = (-size[i] - origin[i]) / way[i], t1 = (size[i] - origin[i]) / way[i];
    if (std::min(t0, t1) > enter) enter = std::min(t0, t1), enter_axis = i;
    if (std::max(t0, t1) < leave) leave = std::max(t0, t1), leave_axis = i;
  }
  if (enter > leave) return {};
  const auto side = [&](std::size_t axis, bool entering) {
    std::array<double, 3> n{};
    n[axis] = (way[axis] > 0) == entering ? -1 : 1;
    return Vector3{n[0], n[1], n[2]};
  };
  LocalHit hit;
  hit.consider(enter, side(enter_axis, true));
  hit.consider(leave, side(leave_axis, false));
  return hit;
}

/// The flat end at height z.
void consider_disc(LocalHit& hit, double z, double radius, const Vector3& o, const Vector3& d) {
  if (d.z == 0) return;
  const double t = (z - o.z) / d.z;
  const double x = o.x + t * d.x, y = o.y + t * d.y;
  if (x * x + y * y <= radius * radius) hit.consider(t, {0, 0, z < 0 ? -1.0 : 1.0});
}

LocalHit hit_cylinder(const Vector3& s, const Vector3& o, const Vector3& d) {
  LocalHit hit;
  const Roots t =
      roots(d.x * d.x + d.y * d.y, o.x * d.x + o.y * d.y, o.x * o.x + o.y * o.y - s.x * s.x);
  for (const double at : {t.near, t.far})
    if (at != kNever && std::abs(o.z + at * d.z) <= s.z)
      hit.consider(at, {o.x + at * d.x, o.y + at * d.y, 0});
  consider_disc(hit, s.z, s.x, o, d);
  consider_disc(hit, -s.z, s.x, o, d);
  return hit;
}

/// x^2 + y^2 = (k (h - z))^2 below the tip, with k = radius / height.
LocalHit hit_cone(const Vector3& s, const Vector3& o, const Vector3& d) {
  LocalHit hit;
  const double k = s.x / (2 * s.z), k2 = k * k, below = s.z - o.z;
  const Roots t =
      roots(d.x * d.x + d.y * d.y - k2 * d.z * d.z, o.x * d.x + o.y * d.y + k2 * below * d.z,
            o.x * o.x + o.y * o.y - k2 * below * below);
  for (const double at : {t.near, t.far}) {
    const double z = o.z + at * d.z;
    if (at == kNever || std::abs(z) > s.z) continue;
    hit.consider(at, {o.x + at * d.x, o.y + at * d.y, k2 * (s.z - z)});
  }
  consider_disc(hit, -s.z, s.x, o, d);
  return hit;
}

LocalHit hit_primitive(const Primitive& primitive, const Vector3& o, const Vector3& d) {
  switch (primitive.kind) {
    case ShapeKind::box:
      return hit_box(primitive.size, o, d);
    case ShapeKind::cylinder:
      return hit_cylinder(primitive.size, o, d);
    case ShapeKind::cone:
      return hit_cone(primitive.size, o, d);
    default:
      return hit_ellipsoid(primitive.size, o, d);
  }
}

double square_radius(const Primitive& primitive) {
  const Vector3& s = primitive.size;
  switch (primitive.kind) {
    case ShapeKind::ellipsoid: {
      const double longest = std::max({s.x, s.y, s.z});
      return longest * longest;
    }
    case ShapeKind::box:
      return dot(s, s);
    default:
      return s.x * s.x + s.z * s.z;
  }
}

/// Whether the ray passes a sphere closer than its radius and not only behind its origin.
bool may_hit(const Vector3& to_centre, const Vector3& direction, double square_radius) {
  const double along = dot(to_centre, direction), square = dot(to_centre, to_centre);
  if (along < 0 && square > square_radius) return false;
  return square - along * along <= square_radius;
}

}  // namespace

Ray camera_ray(const Camera& camera, double x, double y) {
  const Intrinsics& k = camera.intrinsics;
  const Vector3 own{(x - k.cx) / k.fx, (y - k.cy) / k.fy, 1};
  return {camera.position(), normalize(camera.camera_to_world.linear * own)};
}

RayCaster::RayCaster(ProceduralScene scene) : scene_(std::move(scene)) {
  for (const Primitive& primitive : scene_.primitives)
    solids_.push_back({primitive, transpose(primitive.pose.linear), square_radius(primitive)});
}

std::optional<Hit> RayCaster::first_hit(const Ray& ray) const {
  LocalHit best;
  const Solid* solid = nullptr;
  for (const Solid& candidate : solids_) {
    const Vector3 to_centre = candidate.primitive.pose.translation - ray.origin;
    if (!may_hit(to_centre, ray.direction, candidate.square_radius)) continue;
    const LocalHit hit = hit_primitive(candidate.primitive, candidate.to_own * -to_centre,
                                       candidate.to_own * ray.direction);
    if (hit.distance < best.distance) best = hit, solid = &candidate;
  }
  if (scene_.floor_radius > 0 && ray.direction.z != 0) {
    const double t = (scene_.floor_height - ray.origin.z) / ray.direction.z;
    if (t > kNearest && t < best.distance) {
      const Vector3 p = ray.origin + t * ray.direction;
      if (p.x * p.x + p.y * p.y <= scene_.floor_radius * scene_.floor_radius)
        return Hit{t, p, {0, 0, ray.direction.z < 0 ? 1.0 : -1.0}, colour_at(scene_.floor, p)};
    }
  }
  if (solid == nullptr) return std::nullopt;
  const Vector3 point = ray.origin + best.distance * ray.direction;
  const Transform& pose = solid->primitive.pose;
  return Hit{best.distance, point, normalize(pose.linear * best.normal),
             colour_at(solid->primitive.texture, solid->to_own * (point - pose.translation))};
}

bool RayCaster::is_lit(const Vector3& point) const {
  for (const Solid& solid : solids_) {
    const Vector3 to_centre = solid.primitive.pose.translation - point;
    if (may_hit(to_centre, scene_.to_light, solid.square_radius) &&
        hit_primitive(solid.primitive, solid.to_own * -to_centre, solid.to_own * scene_.to_light)
                .distance < kNever)
      return false;
  }
  return true;
}

Vector3 RayCaster::colour(const Ray& ray) const {
  const std::optional<Hit> hit = first_hit(ray);
  if (!hit) {
    const double up = std::max(0.0, ray.direction.z);
    return up * scene_.zenith + (1 - up) * scene_.horizon;
  }
  double light = std::max(0.0, dot(hit->normal, scene_.to_light));
  // A little off the surface, or its curvature would shade itself by rounding.
  constexpr double kOff = 1e-4;
  if (light > 0 && scene_.shadows && !is_lit(hit->point + kOff * hit->normal)) light = 0;
  return (scene_.ambient + (1 - scene_.ambient) * light) * hit->colour;
}

Image RayCaster::render(const Camera& camera) const {
  constexpr double kFirst = 0.25, kSecond = 0.75;
  Image image{camera.width, camera.height, {}};
  image.rgb.resize(static_cast<std::size_t>(camera.width) *
                   static_cast<std::size_t>(camera.height) * 3);
  std::uint8_t* out = image.rgb.data();
  const auto to_byte = [](double value) {
    return static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
  };
  for (int y = 0; y < camera.height; ++y)
    for (int x = 0; x < camera.width; ++x) {
      Vector3 sum;
      for (const double dy : {kFirst, kSecond})
        for (const double dx : {kFirst, kSecond}) sum += colour(camera_ray(camera, x + dx, y + dy));
      for (const double value : {sum.x, sum.y, sum.z}) *out++ = to_byte(value / 4);
    }
  return image;
}

}  // namespace ttt::nvs
