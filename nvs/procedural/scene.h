// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/cameras/camera.h"
#include "nvs/procedural/texture.h"

#include <cstdint>
#include <vector>

/// Scenes that are made up from a seed: textured primitives on a floor, for training without data
/// and for tests with a known answer. The world is that of the object models: z up, the scene
/// around the origin.
namespace ttt::nvs {

enum class ShapeKind {
  ellipsoid,  ///< half axes `size`
  box,        ///< half sides `size`
  cylinder,   ///< about z: radius size.x, from -size.z to size.z
  cone,       ///< about z: radius size.x at -size.z, tip at size.z
};

/// A solid in the world: `pose` takes its own coordinates to the world's and is a rotation with a
/// shift.
struct Primitive {
  ShapeKind kind = ShapeKind::ellipsoid;
  Vector3 size{1, 1, 1};
  Transform pose;
  Texture texture;  ///< in the primitive's own coordinates
};

struct ProceduralScene {
  std::vector<Primitive> primitives;
  double floor_height = 0;  ///< z of a disc around the z axis; 0 radius: no floor
  double floor_radius = 0;
  Texture floor;
  Vector3 to_light{0, 0, 1};  ///< unit vector; light comes from infinitely far
  double ambient = 1;         ///< part of the colour that needs no light; the rest is Lambert's
  bool shadows = false;       ///< primitives keep the light from what is behind them
  Vector3 zenith{1, 1, 1};    ///< background colour straight up
  Vector3 horizon{1, 1, 1};   ///< background colour level and below
};

/// What random scenes are like. Lengths are in the units of the object models.
struct ProceduralOptions {
  int primitives_min = 2;
  int primitives_max = 5;
  double floor_radius = 1.6;
  double floor_height = -0.35;
  double field_of_view = 50;  ///< of the cameras, degrees, horizontal
  double radius_min = 2.2;    ///< distance of the cameras from the origin
  double radius_max = 3.2;
  double elevation_min = 15;  ///< degrees above the floor
  double elevation_max = 60;
};

/// The scene of a seed.
ProceduralScene procedural_scene(std::uint64_t seed, const ProceduralOptions& options = {});
/// Camera number `index` of the scene of a seed: anywhere around it, looking close to the origin.
Camera procedural_camera(std::uint64_t seed, std::int64_t index, int width, int height,
                         const ProceduralOptions& options = {});

}  // namespace ttt::nvs
