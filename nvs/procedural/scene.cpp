// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/procedural/scene.h"

#include "core/seed.h"
#include "training/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace ttt::nvs {
namespace {

using training::Random;

constexpr double kDegree = std::numbers::pi / 180;
constexpr Vector3 kUp{0, 0, 1};

Matrix3 about_z(double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  return {{c, -s, 0, s, c, 0, 0, 0, 1}};
}

Vector3 random_direction(Random& random) {
  const double z = random.uniform(-1, 1), angle = random.uniform(0, 2 * std::numbers::pi);
  const double r = std::sqrt(1 - z * z);
  return {r * std::cos(angle), r * std::sin(angle), z};
}

/// Any hue, and mostly bright and strong colours.
Vector3 random_colour(Random& random) {
  const double hue = random.uniform(0, 6), value = random.uniform(0.35, 1);
  const double saturation = random.uniform(0.2, 1);
  const auto channel = [&](double shift) {
    const double k = std::fmod(hue + shift, 6);
    return value * (1 - saturation * std::clamp(std::min(k, 4 - k), 0.0, 1.0));
  };
  return {channel(5), channel(3), channel(1)};
}

/// `extent`: half the size of what it is for.
Texture random_texture(Random& random, double extent) {
  Texture texture;
  const double kind = random.uniform();
  texture.pattern = kind < 0.2   ? Pattern::plain
                    : kind < 0.4 ? Pattern::checker
                    : kind < 0.6 ? Pattern::stripes
                    : kind < 0.8 ? Pattern::gradient
                                 : Pattern::noise;
  texture.first = random_colour(random);
  texture.second = random_colour(random);
  texture.axis = random_direction(random);
  texture.scale = extent * random.uniform(0.5, 1.0);
  if (texture.pattern == Pattern::gradient) texture.scale = 2 * extent;
  texture.seed = static_cast<std::uint32_t>(random.next());
  return texture;
}

/// Radius of the circle around the z axis of its own that the shape keeps within.
double footprint(const Primitive& primitive) {
  switch (primitive.kind) {
    case ShapeKind::box:
      return std::hypot(primitive.size.x, primitive.size.y);
    case ShapeKind::ellipsoid:
      return std::max(primitive.size.x, primitive.size.y);
    default:
      return primitive.size.x;
  }
}

Primitive random_primitive(Random& random) {
  constexpr ShapeKind kKinds[] = {ShapeKind::ellipsoid, ShapeKind::box, ShapeKind::cylinder,
                                  ShapeKind::cone};
  Primitive result;
  result.kind = kKinds[random.below(4)];
  result.size = {random.uniform(0.18, 0.42), random.uniform(0.18, 0.42), random.uniform(0.2, 0.5)};
  if (result.kind == ShapeKind::ellipsoid && random.chance(0.5))
    result.size.y = result.size.z = result.size.x;
  result.pose.linear = about_z(random.uniform(0, 2 * std::numbers::pi));
  result.texture = random_texture(random, std::max(result.size.x, result.size.z));
  return result;
}

/// Somewhere on the floor, clear of the others if a place is soon found.
void place(Primitive& primitive, const ProceduralScene& scene, Random& random) {
  constexpr int kTries = 20;
  constexpr double kSpread = 0.9;  // half side of the square that centres lie in
  for (int i = 0; i < kTries; ++i) {
    primitive.pose.translation = {random.uniform(-kSpread, kSpread),
                                  random.uniform(-kSpread, kSpread),
                                  scene.floor_height + primitive.size.z};
    const bool clear =
        std::all_of(scene.primitives.begin(), scene.primitives.end(), [&](const Primitive& other) {
          const Vector3 apart = other.pose.translation - primitive.pose.translation;
          return std::hypot(apart.x, apart.y) > footprint(other) + footprint(primitive);
        });
    if (clear) return;
  }
}

}  // namespace

ProceduralScene procedural_scene(std::uint64_t seed, const ProceduralOptions& options) {
  Random random(derive_seed(seed, "scene"));
  ProceduralScene scene;
  scene.floor_height = options.floor_height;
  scene.floor_radius = options.floor_radius;
  scene.floor = random_texture(random, 0.8);
  const double azimuth = random.uniform(0, 2 * std::numbers::pi);
  const double elevation = random.uniform(35, 75) * kDegree;
  scene.to_light = {std::cos(elevation) * std::cos(azimuth),
                    std::cos(elevation) * std::sin(azimuth), std::sin(elevation)};
  scene.ambient = random.uniform(0.4, 0.6);
  scene.shadows = true;
  scene.zenith = random_colour(random);
  scene.horizon = random_colour(random);
  const std::int64_t count =
      options.primitives_min + random.below(options.primitives_max - options.primitives_min + 1);
  for (std::int64_t i = 0; i < count; ++i) {
    Primitive primitive = random_primitive(random);
    place(primitive, scene, random);
    scene.primitives.push_back(primitive);
  }
  return scene;
}

Camera procedural_camera(std::uint64_t seed, std::int64_t index, int width, int height,
                         const ProceduralOptions& options) {
  constexpr double kAside = 0.15;
  Random random(derive_seed(seed, "camera " + std::to_string(index)));
  const double azimuth = random.uniform(0, 2 * std::numbers::pi);
  const double elevation = random.uniform(options.elevation_min, options.elevation_max) * kDegree;
  const double radius = random.uniform(options.radius_min, options.radius_max);
  const Vector3 position{radius * std::cos(elevation) * std::cos(azimuth),
                         radius * std::cos(elevation) * std::sin(azimuth),
                         radius * std::sin(elevation)};
  const Vector3 target{random.uniform(-kAside, kAside), random.uniform(-kAside, kAside),
                       random.uniform(-kAside, kAside)};
  return {look_at(position, target, kUp),
          intrinsics_from_field_of_view(options.field_of_view, width, height), width, height};
}

}  // namespace ttt::nvs
