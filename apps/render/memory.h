// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/render/views.h"

#include <optional>

namespace ttt::cli {

/// Target views that the renderer takes at a time.
std::int64_t views_per_call(const RenderSetup& setup);
/// Whether input views are written into a state.
bool reconstructs(const RenderOptions& options);

/// Throws Error(memory), with advice, when reconstructing from so many inputs and rendering so many
/// frames needs more than there is beside the loaded weights.
void check_memory(const RenderSetup& setup, std::int64_t inputs, std::int64_t frames);

/// What a run would do with a scene, and the memory it needs.
nlohmann::ordered_json dry_run_row(const RenderSetup& setup, const RenderOptions& options,
                                   const std::optional<RenderScene>& scene, std::int64_t frames);

}  // namespace ttt::cli
