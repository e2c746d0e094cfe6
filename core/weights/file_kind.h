// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/mapped_file.h"

namespace ttt::weights {

enum class FileKind {
  safetensors,
  zip,   ///< a zip archive of any purpose
  json,  ///< JSON text: perhaps an index of shards
};

/// Decides by content what a file is. Throws Error(weights) for files that can't hold weights that
/// we read, with their real kind and what to do: Git LFS pointers, web pages, other formats, text,
/// zeros.
FileKind recognise_file(const MappedFile& file);

/// The weight file that a path means: the path itself, or the single safetensors file, index or
/// torch file in a folder. Throws Error(weights) when there is none, or several.
std::filesystem::path resolve_weight_path(const std::filesystem::path& path);

}  // namespace ttt::weights
