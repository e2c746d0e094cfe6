// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/broken_target.h"

#include "tests/fuzz/checks.h"

#include <limits>
#include <vector>

namespace ttt::fuzz {
namespace {

Outcome read_badly(std::string_view bytes) {
  static volatile unsigned calls = 0;
  volatile std::size_t size = bytes.size();
  Digest digest;
  switch (bytes.empty() ? '\0' : bytes[0]) {
    case 'o':  // reads past the end
      return {true, static_cast<unsigned char>(bytes.data()[size])};
    case 'u': {  // undefined arithmetic
      volatile int large = std::numeric_limits<int>::max();
      large = large + static_cast<int>(size);
      return {large < 0, 0};
    }
    case 'm':  // takes too much memory
      return {std::vector<char>(std::size_t{100} << 20).size() > size, 0};
    case 't':  // takes too much time
      while (size > 0) calls = calls + 1;
      return {};
    case 'l': {  // leaks
      char* volatile lost = new char[size];
      return {lost != nullptr, 0};
    }
    case 'x':  // lets a foreign exception out
      return {std::vector<int>(size).at(2 * size) == 0, 0};
    case 'd':  // depends on more than the input
      calls = calls + 1;
      return {true, calls};
    case 'p':  // shows what it read
      check_error(Error(ErrorKind::input, std::string("\x1b[2J")), {ErrorKind::input}, false,
                  digest);
      return {};
    case 'k':  // gives an error of the wrong kind
      check_error(Error(ErrorKind::internal, "oops"), {ErrorKind::input}, false, digest);
      return {};
    default:
      return {true, digest.value()};
  }
}

}  // namespace

const Target& broken_target() {
  static const Target target{"broken",   nullptr, {{"tests/fuzz/corpus/broken", ""}},
                             read_badly, 1 << 20, 1};
  return target;
}

}  // namespace ttt::fuzz
