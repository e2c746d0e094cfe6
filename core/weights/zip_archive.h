// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/mapped_file.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct zip;

namespace ttt::weights {

struct ZipEntry {
  std::string name;
  std::uint64_t index = 0;
  std::uint64_t size = 0;             ///< unpacked
  std::uint64_t compressed_size = 0;  ///< in the file
  std::uint32_t checksum = 0;
  bool stored = true;  ///< not compressed
};

/// The directory of a zip file. Reading is not thread-safe.
class ZipArchive {
 public:
  /// Throws Error(weights) when the directory at the end of the file is missing or damaged; the
  /// message then names sizes; `expected_size` tells the least that is needed (0: unknown).
  ZipArchive(std::shared_ptr<const MappedFile> file,
             const std::function<std::uint64_t()>& expected_size);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  const MappedFile& file() const { return *file_; }
  const std::vector<ZipEntry>& entries() const { return entries_; }
  /// The entry of this name, or null.
  const ZipEntry* find(const std::string& name) const;
  /// Checks that the sizes of an entry are possible; call it before allocating memory.
  void check(const ZipEntry& entry) const;
  /// Unpacks the whole entry to `destination` (entry.size bytes) and verifies its checksum.
  void read(const ZipEntry& entry, char* destination) const;

 private:
  void list_entries();

  std::shared_ptr<const MappedFile> file_;
  struct zip* archive_ = nullptr;
  std::vector<ZipEntry> entries_;
};

}  // namespace ttt::weights
