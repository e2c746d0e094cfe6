// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string_view>

namespace ttt::test {

/// The shared test data: $TTT_SHARED, else the folder `shared` beside the source tree.
std::filesystem::path shared_dir();
/// A file or folder below shared_dir().
std::filesystem::path shared(std::string_view name);
std::filesystem::path source_dir();

/// A fresh folder that is removed at the end of the test.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace ttt::test

/// Skips the test with a message when this file of the shared test data is absent.
#define TTT_REQUIRE_SHARED(name)                           \
  if (!std::filesystem::exists(::ttt::test::shared(name))) \
  GTEST_SKIP() << "test data is absent: " << ::ttt::test::shared(name)
