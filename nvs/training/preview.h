// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/training/view_source.h"

#include <filesystem>

namespace ttt::nvs {

/// Pictures of one size in rows, with a white border; small ones are enlarged without a filter.
Image picture_grid(const std::vector<std::vector<Image>>& rows);

/// A sheet of training samples as a PNG file: one row a scene. Throws Error(output).
void write_preview(const ViewSource& source, std::uint64_t seed, int rows, int views,
                   const std::filesystem::path& path);

}  // namespace ttt::nvs
