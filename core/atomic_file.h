// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace ttt {

/// Writes a file under a temporary name beside it and renames it on commit(), so that the final
/// name never holds half a result. Without commit() the temporary file is removed.
class AtomicFile {
 public:
  /// Creates missing folders. Throws Error(output) when the file can't be created.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  std::ostream& stream() { return stream_; }
  /// Where the data goes until commit(); for writers that want a file name.
  const std::filesystem::path& temporary_path() const { return temporary_; }
  /// Flushes, syncs and renames. Throws Error(output) on a write error (disk full, …).
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::ofstream stream_;
  bool committed_ = false;
};

/// Checks, before any work, that `path` can be written later: its folder can be created and
/// written, and the file doesn't exist unless `overwrite`. Throws Error(output).
void check_writable(const std::filesystem::path& path, bool overwrite);

/// Writes a whole file atomically.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace ttt
