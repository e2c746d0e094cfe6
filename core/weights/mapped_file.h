// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace ttt::weights {

/// A file mapped into memory. Writes through data() stay in this process.
class MappedFile {
 public:
  /// Throws Error(weights) when the file is missing, not a regular file, unreadable or empty.
  explicit MappedFile(std::filesystem::path path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// The path, fit for a message.
  std::string where() const;
  char* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::string_view bytes() const { return {data_, size_}; }

 private:
  std::filesystem::path path_;
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace ttt::weights
