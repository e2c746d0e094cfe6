// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/inputs/inputs.h"
#include "tests/support/paths.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::test {

/// The shortest content that passes for a picture here: these tests read, but don't decode.
inline constexpr std::string_view kJpeg{"\xFF\xD8\xFF\xE0", 4};

/// Writes a file below the folder, with the folders that it needs, and returns its path.
std::string put(const TempDir& folder, std::string_view name, std::string_view content = kJpeg);

/// The names of the items without `prefix` and the slash behind it.
std::vector<std::string> names(const InputSet& set, const std::filesystem::path& prefix = {});

InputSet expand(std::vector<std::string> arguments, std::string split = "auto");

/// What read() gives, or "error: " and the message.
std::string content_of(const InputItem& item);

/// One archive member: a header block with a right checksum, and the content.
std::string tar_member(std::string_view name, std::string_view content, char type = '0',
                       std::string_view link = {}, std::string_view prefix = {});
/// The two blocks at the end.
std::string tar_end();

}  // namespace ttt::test
