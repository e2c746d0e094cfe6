// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace ttt {

/// What went wrong, as far as the caller can act on it. Programs map kinds to exit codes
/// (exit_code).
enum class ErrorKind {
  usage,        ///< a flag or argument is wrong
  input,        ///< a picture, scene or text can't be read
  weights,      ///< a weight file is missing, damaged or for another model
  unsupported,  ///< a well-formed input of a kind that we don't handle
  output,       ///< a result can't be written
  memory,       ///< not enough memory
  device,       ///< a device or backend is not available
  check,        ///< a check ran and failed (selftest, bench --compare)
  internal,     ///< a bug of ours
  interrupted,  ///< the user asked to stop
};

/// Name of a kind, as used in JSON output ("usage", "input", …).
std::string_view to_string(ErrorKind kind);

/// Process exit code of a kind: usage 2, weights 3, input and unsupported 4, output 5, memory 6,
/// device 7, check 8, internal 70, interrupted 130.
int exit_code(ErrorKind kind);

/// The one exception type of the suite. what() is "<what> (<where>)"; hint() is one action that the
/// user can take, or empty.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string what, std::string where = {}, std::string hint = {},
        std::source_location source = std::source_location::current());

  ErrorKind kind() const noexcept { return kind_; }
  /// The message without the place.
  const std::string& message() const noexcept { return message_; }
  /// File, option, tensor or item concerned; may be empty.
  const std::string& where() const noexcept { return where_; }
  const std::string& hint() const noexcept { return hint_; }
  const std::source_location& source() const noexcept { return source_; }

 private:
  ErrorKind kind_;
  std::string message_;
  std::string where_;
  std::string hint_;
  std::source_location source_;
};

/// Makes text of unknown origin safe for a terminal or log: control characters and invalid UTF-8
/// become \xNN, and more than `max_bytes` are cut with "…".
std::string printable(std::string_view text, std::size_t max_bytes = 300);

}  // namespace ttt

/// Throws ttt::Error of the given kind when the condition is false. Further arguments: what, where,
/// hint; they are evaluated only on failure.
#define TTT_CHECK(condition, kind, ...)                        \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      throw ::ttt::Error(::ttt::ErrorKind::kind, __VA_ARGS__); \
  } while (false)
