// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/procedural/texture.h"

#include <algorithm>
#include <cmath>

namespace ttt::nvs {
namespace {

/// Boundaries of cells lie off the planes through the origin: a floor or a side of a box on such a
/// plane would flicker between two colours.
constexpr double kOffset = 0.371;

std::int64_t cell(double x) {
  return static_cast<std::int64_t>(std::floor(x + kOffset));
}

Vector3 mixed(const Texture& texture, double part) {
  return (1 - part) * texture.first + part * texture.second;
}

/// A number in 0 to 1 for a lattice point.
double lattice(std::int64_t x, std::int64_t y, std::int64_t z, std::uint32_t seed) {
  std::uint32_t h = seed;
  for (const std::int64_t value : {x, y, z}) {
    h ^= static_cast<std::uint32_t>(value);
    h *= 0x9E3779B1U;
    h ^= h >> 15;
    h *= 0x85EBCA77U;
    h ^= h >> 13;
  }
  return h * 0x1.0p-32;
}

double smooth(double t) {
  return t * t * (3 - 2 * t);
}

double value_noise(const Vector3& p, std::uint32_t seed) {
  const double fx = std::floor(p.x), fy = std::floor(p.y), fz = std::floor(p.z);
  const auto x = static_cast<std::int64_t>(fx), y = static_cast<std::int64_t>(fy);
  const auto z = static_cast<std::int64_t>(fz);
  const double tx = smooth(p.x - fx), ty = smooth(p.y - fy), tz = smooth(p.z - fz);
  double sum = 0;
  for (int i = 0; i < 8; ++i) {
    const int dx = i & 1, dy = (i >> 1) & 1, dz = i >> 2;
    const double weight = (dx ? tx : 1 - tx) * (dy ? ty : 1 - ty) * (dz ? tz : 1 - tz);
    sum += weight * lattice(x + dx, y + dy, z + dz, seed);
  }
  return sum;
}

}  // namespace

Vector3 colour_at(const Texture& texture, const Vector3& point) {
  const double inverse = 1 / texture.scale;
  switch (texture.pattern) {
    case Pattern::plain:
      return texture.first;
    case Pattern::checker: {
      const std::int64_t sum =
          cell(point.x * inverse) + cell(point.y * inverse) + cell(point.z * inverse);
      return sum % 2 == 0 ? texture.first : texture.second;
    }
    case Pattern::stripes:
      return cell(dot(point, texture.axis) * inverse) % 2 == 0 ? texture.first : texture.second;
    case Pattern::gradient:
      return mixed(texture, std::clamp(dot(point, texture.axis) * inverse + 0.5, 0.0, 1.0));
    case Pattern::noise:
      // Values near one half are by far the most frequent; the contrast brings out both colours.
      return mixed(texture,
                   std::clamp(2 * value_noise(inverse * point, texture.seed) - 0.5, 0.0, 1.0));
  }
  return texture.first;
}

}  // namespace ttt::nvs
