// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/target.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

namespace ttt::fuzz {
namespace fs = std::filesystem;
namespace {

std::vector<fs::path> files_in(const Seeds& seeds) {
  std::vector<fs::path> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(source_folder() / seeds.folder, missing))
    if (entry.path().string().ends_with(seeds.suffix) && entry.path().extension() != ".py")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> list = weight_targets();
    for (const auto& more : {picture_targets(), text_targets(), config_targets()})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }();
  return all;
}

const Target* find_target(std::string_view name) {
  const auto found = std::find_if(targets().begin(), targets().end(),
                                  [&](const Target& target) { return target.name == name; });
  return found == targets().end() ? nullptr : &*found;
}

fs::path source_folder() {
  return TTT_SOURCE_DIR;
}

std::string read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("can't read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> seed_files(const Target& target) {
  std::vector<fs::path> files;
  for (const Seeds& seeds : target.seeds) {
    const std::vector<fs::path> more = files_in(seeds);
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

std::vector<std::string> read_seeds(const Target& target) {
  std::vector<std::string> seeds;
  for (const fs::path& path : seed_files(target)) seeds.push_back(read_bytes(path));
  if (seeds.empty()) throw std::runtime_error("there are no seeds");
  return seeds;
}

std::vector<fs::path> regression_files(const Target& target) {
  return files_in({"tests/fuzz/regressions/" + std::string(target.name), ""});
}

std::string make_input(const Target& target, const std::vector<std::string>& seeds,
                       std::uint64_t seed, std::uint64_t index) {
  Random random(seed, index);
  std::string bytes = mutate(seeds, target.format != nullptr ? &target.format() : nullptr, random);
  if (bytes.size() > target.max_input) bytes.resize(target.max_input);
  return bytes;
}

std::string memory_file(std::string_view bytes) {
  static const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  bool written = ::ftruncate(file, 0) == 0;
  for (std::size_t at = 0; written && at < bytes.size();) {
    const ssize_t count =
        ::pwrite(file, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    written = count > 0;
    at += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }
  if (!written) throw std::runtime_error("can't write to a file in memory");
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace ttt::fuzz
