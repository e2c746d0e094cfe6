// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/procedural/scene.h"

#include <filesystem>

namespace ttt::nvs {

/// Writes views 0 to `views` - 1 of the scene of a seed as a data set that `ttt render` reads:
/// transforms.json (NeRF's form) and images/view_000.png, …. Throws Error(output).
void export_procedural_scene(const std::filesystem::path& folder, std::uint64_t seed, int views,
                             int width, int height, const ProceduralOptions& options = {});

}  // namespace ttt::nvs
