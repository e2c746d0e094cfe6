// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"
#include "nvs/cameras/camera.h"
#include "nvs/scene/scene.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ttt::nvs {

struct Range {
  double min = 0, mean = 0, max = 0;
};

/// What the cameras of a scene look like as a whole, in the scene's world and units.
struct RigSummary {
  std::string scene, format, axes;
  int frames = 0;
  int usable = 0;
  int lenses = 0;             ///< different matrices, sizes or distortions
  int distorted = 0;          ///< frames whose lens has a distortion
  int width = 0, height = 0;  ///< most frequent declared size
  bool mixed_sizes = false;
  Vector3 low, high;                   ///< bounding box of the positions
  Range baseline;                      ///< from each camera to its nearest neighbour
  Range horizontal_fov, vertical_fov;  ///< degrees, without the lens distortion
  Vector3 up;                          ///< mean up axis
  std::optional<Vector3> center;       ///< the point closest to all optical axes; where they are
                                       ///< parallel, the middle of the points
  bool center_of_points = false;       ///< where it comes from
  Range radius;                        ///< distance to the centre, 0 without one
  Range elevation;                     ///< degrees above the centre, about `up`
  double azimuth_coverage = 0;         ///< degrees around `up` without the widest gap
  double facing = 0;                   ///< share of cameras that have the centre in front of them
  std::size_t points = 0;              ///< of the sparse model
  double views_per_point = 0;          ///< pictures that show one, on average
  Vector3 points_low, points_high;     ///< nine tenths of each coordinate lie in between
  Vector3 points_middle;               ///< median of each coordinate
  double points_ahead = 0;             ///< share of cameras that have this middle in front of them
  std::vector<std::string> warnings;   ///< what looks implausible, and what may be the reason
};

/// Frames that can't be used are left out. Needs a usable one.
RigSummary summarize_rig(const Scene& scene);
/// A few lines for people; without a final newline.
std::string rig_text(const RigSummary& rig);

/// What is implausible for the object models: cameras 2.7 away from an object at the origin, z up,
/// a horizontal field of view of 50 degrees.
std::vector<std::string> object_mode_warnings(const RigSummary& rig);

/// A drawing of the rig from above (along the mean up axis) and from the side: cameras with their
/// field of view and index, inputs blue, targets red, others grey, the points of a sparse model in
/// their colours, the centre, the world's axes and a scale.
Image draw_rig(const Scene& scene, std::span<const int> inputs, std::span<const int> targets);

/// Usable frames as cameras of their declared size, without lens distortion.
std::vector<Camera> rig_cameras(const Scene& scene);

}  // namespace ttt::nvs
