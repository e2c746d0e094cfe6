// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.h"
#include "core/log.h"
#include "core/weights/weight_file.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace ttt::test {

inline void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A safetensors file of this JSON header and this many zero bytes of data.
inline std::string safetensors_bytes(const std::string& header, std::size_t data_size) {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + std::string(data_size, '\0');
}

/// The error of opening this content, which must be of kind weights with a hint; its message and
/// hint as one text.
inline std::string open_error(std::string_view bytes, const WeightFileOptions& options = {}) {
  const TempDir folder;
  const auto path = folder / "file";
  write_bytes(path, bytes);
  try {
    WeightFile::open(path, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::weights) << error.what();
    EXPECT_FALSE(error.hint().empty()) << error.what();
    return std::string(error.what()) + "\n" + error.hint();
  }
  ADD_FAILURE() << "a bad file was accepted";
  return {};
}

/// Collects the log lines of a scope.
class LogCapture {
 public:
  LogCapture() {
    set_log_callback(
        [this](LogLevel, std::string_view line) { text_ += std::string(line) + "\n"; });
  }
  ~LogCapture() { set_log_callback({}); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace ttt::test

#define EXPECT_CONTAINS(text, part) EXPECT_PRED2(::ttt::test::contains, text, part)

namespace ttt::test {
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
}  // namespace ttt::test
