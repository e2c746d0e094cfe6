// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ttt::inputs {

/// A tar archive (v7, ustar, GNU and pax names), read in place: the index is built once, the
/// content comes from the file on demand. Thread-safe.
class TarArchive {
 public:
  struct Entry {
    std::string name;  ///< without a leading "./"
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };

  /// Throws Error(input) for a damaged header, naming its offset.
  explicit TarArchive(const std::string& path);
  ~TarArchive();
  TarArchive(const TarArchive&) = delete;
  TarArchive& operator=(const TarArchive&) = delete;

  /// The regular files (hard links to them too), in the order of the archive.
  const std::vector<Entry>& entries() const { return entries_; }
  /// Throws Error(input) when the archive ends before the entry does.
  std::vector<std::uint8_t> read(const Entry& entry) const;

 private:
  struct Reader;

  std::string path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
  std::vector<Entry> entries_;
};

/// The first block has the checksum of a tar header. False for files that can't be read.
bool is_tar(const std::string& path);

}  // namespace ttt::inputs
