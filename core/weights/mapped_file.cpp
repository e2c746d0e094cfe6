// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/mapped_file.h"

#include "core/error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ttt::weights {
namespace {

/// Closes a descriptor at the end of a scope; a mapping outlives it.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

}  // namespace

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  // O_NONBLOCK: opening a named pipe must not wait for its writer.
  const Descriptor file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  TTT_CHECK(file.value >= 0, weights, std::string("can't open the file: ") + std::strerror(errno),
            where(), "check the path and its permissions");
  struct stat status {};
  TTT_CHECK(::fstat(file.value, &status) == 0, weights,
            std::string("can't read the file: ") + std::strerror(errno), where(),
            "check the path and its permissions");
  TTT_CHECK(S_ISREG(status.st_mode), weights, "not a regular file", where(),
            "give the path of a weight file; pipes and devices can't be read");
  TTT_CHECK(status.st_size > 0, weights, "the file is empty", where(), "download it again");
  size_ = static_cast<std::size_t>(status.st_size);
  // Private and writable: a caller that changes a tensor in place gets a copy of the page instead
  // of a crash. No reserve: that right alone must not count against the machine's memory.
  void* mapping =
      ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.value, 0);
  TTT_CHECK(mapping != MAP_FAILED, weights,
            std::string("can't map the file: ") + std::strerror(errno), where(),
            "copy it to a local disk");
  data_ = static_cast<char*>(mapping);
}

MappedFile::~MappedFile() {
  ::munmap(data_, size_);
}

std::string MappedFile::where() const {
  return printable(path_.string());
}

}  // namespace ttt::weights
