// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/render/views.h"
#include "core/progress.h"
#include "nvs/model/scene_state.h"

#include <string>
#include <vector>

namespace ttt::cli {

/// Loads --state. Throws Error(weights) when it belongs to other weights, and Error(usage) when
/// --mode says otherwise.
nvs::SceneState open_state(const RenderSetup& setup, const RenderOptions& options);

/// The state of a scene into which no view has been written.
nvs::SceneState new_state(const RenderSetup& setup, const RenderScene& scene);

/// The input views of a scene, in the model's world.
struct InputViews {
  nvs::PosedViews posed;
  std::vector<nvs::View> views;     ///< all, with the errors of those that `posed` lacks
  std::vector<std::string> failed;  ///< these errors; they have been logged
};
/// Throws Error(input) when none can be read.
InputViews load_input_views(const RenderSetup& setup, const RenderOptions& options,
                            const RenderScene& scene, const ProgressCallback& progress);

}  // namespace ttt::cli
