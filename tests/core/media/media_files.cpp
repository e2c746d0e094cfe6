// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/core/media/media_files.h"

#include "core/weights/content_hash.h"
#include "tests/support/paths.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace ttt::test {
namespace fs = std::filesystem;

std::vector<std::uint8_t> file_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("can't read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

nlohmann::json json_file(const fs::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

std::vector<std::uint8_t> tensor_bytes(const fs::path& path, const std::string& name) {
  const std::vector<std::uint8_t> bytes = file_bytes(path);
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto start = bytes.begin() + 8;
  const auto data = start + static_cast<std::ptrdiff_t>(header);
  const nlohmann::json offsets = nlohmann::json::parse(start, data).at(name).at("data_offsets");
  return {data + offsets.at(0).get<std::ptrdiff_t>(), data + offsets.at(1).get<std::ptrdiff_t>()};
}

fs::path data_folder() {
  return source_dir() / "tests/core/media/data";
}

std::vector<fs::path> data_files() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(data_folder()))
    if (entry.path().extension() != ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string sha256_of(const Image& image) {
  return weights::sha256({reinterpret_cast<const char*>(image.rgb.data()), image.rgb.size()});
}

}  // namespace ttt::test
