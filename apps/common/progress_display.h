// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/progress.h"

#include <chrono>
#include <memory>
#include <optional>

namespace ttt::cli {

/// Shows the progress of one task: redrawn on a terminal, else one line per ten seconds on standard
/// error. With a descriptor it also writes JSON lines there: task, done, total (0: unknown),
/// elapsed_s, rate (items per second), remaining_s (null: unknown), finished, and where there is
/// one a note in words, such as the loss.
class ProgressDisplay {
 public:
  struct Settings {
    bool show = true;
    std::optional<int> descriptor;
  };

  explicit ProgressDisplay(Settings settings);
  /// For the library. The display must outlive its use.
  ProgressCallback callback();

 private:
  using Clock = std::chrono::steady_clock;
  void on_report(const ProgressReport& report);
  void draw(const ProgressReport& report);
  void write_line(const ProgressReport& report);
  void write_json(const ProgressReport& report);

  Settings settings_;
  bool estimate_shown_ = false;
  Clock::time_point last_shown_;
  Clock::time_point last_json_;
};

/// Throws Error(usage) when the descriptor isn't open for writing.
void check_progress_descriptor(int descriptor);

}  // namespace ttt::cli
