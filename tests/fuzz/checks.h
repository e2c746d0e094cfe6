// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.h"

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ttt::fuzz {

/// A reader broke a promise.
class Violation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline void require(bool condition, const char* what) {
  if (!condition) throw Violation(what);
}

/// Throws Violation unless the text is UTF-8 without control characters.
void require_printable(std::string_view text, const char* what);

/// What became of an input, in 64 bits (FNV-1a): equal inputs must give equal digests.
class Digest {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    add(bytes.size());
  }
  void add(std::uint64_t number) { value_ = (value_ ^ number) * 0x100000001B3 ^ value_ >> 29; }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325;
};

/// Checks that an error is of an allowed kind and fit for a terminal, and adds it to the digest.
/// `hint`: there must be one.
void check_error(const Error& error, std::initializer_list<ErrorKind> allowed, bool hint,
                 Digest& digest);

/// Lines of the source that have thrown the errors checked so far: how far mutants get.
std::size_t places_of_errors();

}  // namespace ttt::fuzz
