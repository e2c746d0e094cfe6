// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ttt::test {

std::vector<std::uint8_t> file_bytes(const std::filesystem::path& path);
nlohmann::json json_file(const std::filesystem::path& path);
/// The data of one tensor of a safetensors file.
std::vector<std::uint8_t> tensor_bytes(const std::filesystem::path& path, const std::string& name);

/// tests/core/media/data
std::filesystem::path data_folder();
/// The picture files in it, in order of their names.
std::vector<std::filesystem::path> data_files();

std::string sha256_of(const Image& image);

}  // namespace ttt::test
