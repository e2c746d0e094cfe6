// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ttt::weights {

/// SHA-256 in hexadecimal.
std::string sha256(std::string_view bytes);
/// SHA-256 of a file, read in pieces. Throws Error(weights) on a read error.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace ttt::weights
