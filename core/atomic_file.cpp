// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/atomic_file.h"

#include "core/error.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace ttt {
namespace fs = std::filesystem;
namespace {

std::string reason() {
  return errno != 0 ? std::strerror(errno) : "unknown reason";
}

void create_parent(const fs::path& path) {
  if (path.parent_path().empty()) return;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  TTT_CHECK(!error, output, "can't create the folder: " + error.message(),
            printable(path.parent_path().string()), "choose another output path");
}

}  // namespace

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  create_parent(path_);
  // The process id keeps two runs with the same output apart; the suffix stays last because some
  // writers choose the format by it.
  temporary_ = path_.parent_path() / ("." + path_.stem().string() + ".tmp" +
                                      std::to_string(::getpid()) + path_.extension().string());
  errno = 0;
  stream_.open(temporary_, std::ios::binary | std::ios::trunc);
  TTT_CHECK(stream_.is_open(), output, "can't write the file: " + reason(),
            printable(path_.string()), "choose a path in a folder that can be written");
}

AtomicFile::~AtomicFile() {
  if (committed_) return;
  stream_.close();
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void AtomicFile::commit() {
  // A write that failed has left its reason there.
  if (stream_) errno = 0;
  stream_.close();
  TTT_CHECK(stream_, output, "writing failed: " + reason(), printable(path_.string()),
            "check the free space on that disk");
  std::error_code error;
  fs::rename(temporary_, path_, error);
  TTT_CHECK(!error, output, "can't give the finished file its name: " + error.message(),
            printable(path_.string()), "check the permissions of that folder");
  committed_ = true;
}

void check_writable(const fs::path& path, bool overwrite) {
  std::error_code ignored;
  TTT_CHECK(!fs::is_directory(path, ignored), output, "the output is a folder",
            printable(path.string()), "give a file name");
  TTT_CHECK(overwrite || !fs::exists(path, ignored), output, "the output exists already",
            printable(path.string()), "give --overwrite to replace it, or another name");
  const AtomicFile probe(path);
}

void write_file(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  file.stream().write(content.data(), static_cast<std::streamsize>(content.size()));
  file.commit();
}

}  // namespace ttt
