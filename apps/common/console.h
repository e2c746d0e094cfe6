// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/log.h"

#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace ttt::cli {

/// Standard error: log lines, errors, and the progress line, which is redrawn below them on a
/// terminal. One object per process; safe to call from several threads.
class Console {
 public:
  static Console& instance();

  /// "auto" (colour on a terminal, unless NO_COLOR is set or TERM is "dumb"), "always", "never".
  void set_color(std::string_view mode);
  /// Takes over the lines of the library's log.
  void attach_to_log();

  bool is_terminal() const { return terminal_; }
  /// Prints one line in front of the progress line. `word` ("error", "warning", "hint", or empty)
  /// comes first, in colour where allowed.
  void print(std::string_view word, std::string_view text);
  /// Replaces the progress line; empty removes it. Only for terminals.
  void set_progress_line(std::string line);
  /// After ten lines that differ only in the place "(…)" at their end, further ones are counted
  /// instead of printed. This prints the counts.
  void print_repetitions();

 private:
  Console();
  void print_log(LogLevel level, std::string_view line);
  void write(std::string_view word, std::string_view text);

  std::mutex mutex_;
  bool terminal_ = false;
  bool color_ = false;
  std::string progress_;
  std::map<std::string, int, std::less<>> repetitions_;
};

}  // namespace ttt::cli
