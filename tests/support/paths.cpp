// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/paths.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace ttt::test {
namespace fs = std::filesystem;

fs::path source_dir() {
  return TTT_SOURCE_DIR;
}

fs::path shared_dir() {
  if (const char* folder = std::getenv("TTT_SHARED")) return folder;
  return source_dir().parent_path() / "shared";
}

fs::path shared(std::string_view name) {
  return shared_dir() / name;
}

TempDir::TempDir() {
  std::string name = (fs::temp_directory_path() / "ttt-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace ttt::test
