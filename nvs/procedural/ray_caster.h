// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"
#include "nvs/procedural/scene.h"

#include <optional>

namespace ttt::nvs {

struct Ray {
  Vector3 origin;
  Vector3 direction;  ///< unit vector
};

/// Where a ray meets a surface first.
struct Hit {
  double distance = 0;
  Vector3 point, normal;  ///< normal: unit vector that points outwards
  Vector3 colour;         ///< of the texture, before any light
};

/// The ray through a point of the picture, in pixels; (0.5, 0.5) is the centre of the first one.
Ray camera_ray(const Camera& camera, double x, double y);

/// A scene made ready for many rays.
class RayCaster {
 public:
  explicit RayCaster(ProceduralScene scene);

  /// Empty where the ray leaves the scene.
  std::optional<Hit> first_hit(const Ray& ray) const;
  /// Light that comes back along the ray, red, green and blue in 0 to 1.
  Vector3 colour(const Ray& ray) const;
  /// The picture of a camera: the mean of 2x2 rays a pixel, rounded to 8 bits.
  Image render(const Camera& camera) const;

 private:
  /// A primitive with what every ray needs.
  struct Solid {
    Primitive primitive;
    Matrix3 to_own;        // rotation from the world
    double square_radius;  // of the sphere around its centre that holds it
  };

  bool is_lit(const Vector3& point) const;

  ProceduralScene scene_;
  std::vector<Solid> solids_;
};

}  // namespace ttt::nvs
