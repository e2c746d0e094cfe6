// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/cameras/camera.h"

#include <optional>
#include <span>
#include <vector>

namespace ttt::nvs {

/// Camera paths. Each gives one camera a frame, for pictures of width x height, in the world of the
/// cameras it is made from. Frame counts are from 1 to 100,000, else Error(usage).

/// The official object turntable (LaCT: lact_nvs/inference.py, get_turntable_cameras_with_zoom_in):
/// once round the origin, z up, with elevation and radius swinging around their middle. The
/// defaults are the official numbers; degrees, and units of the object models.
struct TurntableOptions {
  int frames = 120;
  int width = 256;
  int height = 256;
  double field_of_view = 50;  ///< horizontal
  double radius_min = 1.7;
  double radius_max = 3.0;
  double elevation = 30;
  Vector3 up{0, 0, 1};
  /// The official caller swaps width and height, which shifts the picture of non-square sizes.
  bool swap_size = false;
};
std::vector<Camera> turntable_path(const TurntableOptions& options);

/// A closed circle around what the cameras look at, about their mean up axis, at their mean
/// distance and elevation, starting at the first camera's side; the matrix is the first camera's.
/// Cameras with parallel axes go around `otherwise`. Throws Error(input) when there is no such
/// point.
std::vector<Camera> orbit_path(std::span<const Camera> cameras, int frames, int width, int height,
                               const std::optional<Vector3>& otherwise = {});

/// Two turns of a spiral around the mean camera, within the spread of the given ones (90th
/// percentile of each axis), looking at what they look at on the average: for captures that face
/// one way.
std::vector<Camera> spiral_path(std::span<const Camera> cameras, int frames, int width, int height);

enum class Interpolation {
  linear,  ///< the official one: pose and intrinsics element by element, so rotations shear
  sphere,  ///< rotations along the shortest way on the rotation sphere, positions straight
  spline,  ///< smooth: Catmull-Rom through positions, squad through rotations
};

/// From camera to camera with `between` frames in between: (V - 1) (between + 1) + 1 frames, the
/// given cameras included. Sizes are those of the first camera, which all should share.
std::vector<Camera> interpolated_path(std::span<const Camera> cameras, int between,
                                      Interpolation mode);

}  // namespace ttt::nvs
