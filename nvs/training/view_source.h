// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"
#include "nvs/cameras/camera.h"
#include "nvs/procedural/scene.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ttt::nvs {

/// Views of one scene, all of one size.
struct SceneViews {
  std::vector<Image> images;
  std::vector<Camera> cameras;
};

/// Where training gets its scenes from. Sampling is safe from several threads, and what comes
/// depends on the arguments alone.
class ViewSource {
 public:
  virtual ~ViewSource() = default;
  /// `count` different views of one scene, both chosen by the seed.
  virtual SceneViews sample(std::uint64_t seed, int count) const = 0;
  /// For the log and for checks on resuming.
  virtual std::string description() const = 0;
};

/// A new made-up scene for every seed.
std::unique_ptr<ViewSource> procedural_source(int width, int height,
                                              const ProceduralOptions& options = {});

/// What posed pictures are read from.
struct SceneFileOptions {
  int width = 256;
  int height = 256;
  int views = 15;          ///< that will be asked for; scenes with fewer are refused
  int held_out_every = 8;  ///< leave out frames 0, n, 2n, …, which `ttt render` measures; 0: none
  int workers = 1;         ///< threads that read
};
/// The training views of all scenes that a path leads to (see find_scenes), read and scaled at
/// once: a scene's own training split, or all frames but the held-out ones. Frames that can't be
/// read are left out with a warning. Throws Error(input) and Error(usage).
std::unique_ptr<ViewSource> scene_file_source(const std::string& path,
                                              const SceneFileOptions& options);

/// Takes each scene from one of several sources, by chance.
struct WeightedSource {
  std::unique_ptr<ViewSource> source;
  double weight = 1;
};
/// Throws Error(usage) unless there is a source and the weights have a positive sum.
std::unique_ptr<ViewSource> mixed_source(std::vector<WeightedSource> sources);

/// Views to measure with: the inputs come first. Frames as `ttt render` chooses them: targets are
/// the scene's test split or every n-th frame, at most `targets` of them, inputs the k-means choice
/// of the rest.
SceneViews evaluation_views(const std::string& path, int inputs, int targets,
                            const SceneFileOptions& options);
/// The same of a made-up scene.
SceneViews procedural_views(std::uint64_t seed, int count, int width, int height,
                            const ProceduralOptions& options = {});

}  // namespace ttt::nvs
