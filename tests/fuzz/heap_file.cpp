// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// MappedFile for the fuzzer: the file lies in a heap block of exactly its size. Behind the end of a
// mapping lies the rest of a page, and a reader that strays there would go unnoticed.
#include "core/error.h"
#include "core/weights/mapped_file.h"

#include <fstream>
#include <iterator>

namespace ttt::weights {

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code error;
  TTT_CHECK(std::filesystem::is_regular_file(path_, error), weights, "not a regular file", where(),
            "give the path of a weight file; pipes and devices can't be read");
  std::ifstream file(path_, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  TTT_CHECK(!bytes.empty(), weights, "the file is empty", where(), "download it again");
  size_ = bytes.size();
  data_ = new char[size_];
  bytes.copy(data_, size_);
}

MappedFile::~MappedFile() {
  delete[] data_;
}

std::string MappedFile::where() const {
  return printable(path_.string());
}

}  // namespace ttt::weights
