// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/render/setup.h"
#include "nvs/cameras/normalization.h"
#include "nvs/scene/rig.h"
#include "nvs/scene/selection.h"
#include "nvs/scene/views.h"

#include <string>
#include <vector>

namespace ttt::cli {

/// A scene with the views of a run.
struct RenderScene {
  nvs::Scene scene;
  nvs::RigSummary rig;  ///< of `scene`
  nvs::ViewSelection selection;
  std::string mode;  ///< "object" or "scene"
  nvs::PoseNormalization normalization;
};

/// Reads a scene's cameras and tells about them on the log. No views are chosen yet.
RenderScene open_scene(const nvs::SceneLocation& location, const RenderOptions& options);

/// Which frames are inputs and targets. Throws Error(usage) for lists that don't fit.
nvs::ViewSelection choose_views(const nvs::Scene& scene, const RenderOptions& options,
                                std::uint64_t seed);

/// Sets mode and normalisation.
void normalize(RenderScene& scene, const RenderSetup& setup, const RenderOptions& options);

nvs::ViewOptions view_options(const PixelSize& size, const RenderOptions& options);
/// Cameras of frames at a size, in the scene's world.
std::vector<nvs::Camera> frame_cameras(const nvs::Scene& scene, const std::vector<int>& indices,
                                       const PixelSize& size, const RenderOptions& options);

/// The cameras to render, in the model's world. `scene` may be null where a state is rendered along
/// a path that needs no frames; then `normalization` is the state's.
std::vector<nvs::Camera> path_cameras(const RenderScene* scene,
                                      const nvs::PoseNormalization& normalization,
                                      const std::string& mode, const RenderSetup& setup,
                                      const RenderOptions& options);

/// Whether --path renders the target views themselves.
bool renders_targets(const RenderOptions& options);

}  // namespace ttt::cli
