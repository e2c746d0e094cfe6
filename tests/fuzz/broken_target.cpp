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
  const volatile std::size_t size = bytes.size();
  Digest digest;
  if (bytes == "overrun") return {true, static_cast<unsigned char>(bytes.data()[size])};
  if (bytes == "undefined_arithmetic") {
    volatile int large = std::numeric_limits<int>::max();
    large = large + static_cast<int>(size);
    return {large < 0, 0};
  }
  if (bytes == "memory_bound") return {std::vector<char>(std::size_t{100} << 20).size() > size, 0};
  if (bytes == "time_bound")
    while (size > 0) calls = calls + 1;
  if (bytes == "leak") {
    char* volatile lost = new char[size];
    return {lost != nullptr, 0};
  }
  if (bytes == "foreign_exception") return {std::vector<int>(size).at(2 * size) == 0, 0};
  if (bytes == "other_result") {
    calls = calls + 1;
    return {true, calls};
  }
  if (bytes == "unprintable_message")
    check_error(Error(ErrorKind::input, "\x1b[2J"), {ErrorKind::input}, false, digest);
  if (bytes == "wrong_kind")
    check_error(Error(ErrorKind::internal, "oops"), {ErrorKind::input}, false, digest);
  return {true, digest.value()};
}

}  // namespace

const Target& broken_target() {
  static const Target target{"broken",   nullptr, {{"tests/fuzz/corpus/broken", ""}},
                             read_badly, 1 << 20, 1};
  return target;
}

}  // namespace ttt::fuzz
