// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/assets.h"

#include "core/error.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace ttt {

std::string asset_path(std::string_view name) {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders;
  if (const char* folder = std::getenv("TTT_ASSETS")) folders.emplace_back(folder);
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  if (!program.empty())
    folders.push_back((program.parent_path() / TTT_ASSETS_FROM_PROGRAM).lexically_normal());
  folders.emplace_back(TTT_SOURCE_ASSETS);
  std::string places;
  for (const fs::path& folder : folders) {
    const fs::path path = folder / name;
    if (fs::exists(path, ignored)) return path.string();
    places += (places.empty() ? "" : ", ") + folder.string();
  }
  throw Error(ErrorKind::input, "the shipped file \"" + std::string(name) + "\" was not found",
              "looked in " + places, "set TTT_ASSETS to the assets folder of the source tree");
}

}  // namespace ttt
