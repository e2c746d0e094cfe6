// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/contents.h"
#include "core/weights/mapped_file.h"

namespace ttt::weights {

/// Reads and checks the header of one safetensors file (8-byte little-endian length, JSON, data):
/// sizes, types, and that the tensors cover the data exactly, without gaps or overlaps.
/// Throws Error(weights).
Contents open_safetensors(std::shared_ptr<const MappedFile> file);

/// Reads a `*.safetensors.index.json` and all its shards, which lie beside it.
Contents open_safetensors_index(const MappedFile& index);

/// The longest header that the format allows.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

}  // namespace ttt::weights
