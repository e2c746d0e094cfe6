// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ttt::vision {

/// A regular file inside a tar archive: its name and where its bytes lie.
struct TarMember {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// True if the bytes start with a tar header (its checksum fits).
bool looks_like_tar(std::span<const std::uint8_t> bytes);

/// The regular files of an uncompressed tar archive (ustar, GNU long names, pax paths), in file
/// order. Throws Error(input), with `where`, for damaged or cut archives.
std::vector<TarMember> tar_members(std::span<const std::uint8_t> bytes, const std::string& where);

}  // namespace ttt::vision
