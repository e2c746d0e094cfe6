// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace ttt {

/// One report of a long-running task.
struct ProgressReport {
  std::string task;        ///< what is being done, e.g. "classify"
  std::int64_t done = 0;   ///< finished items
  std::int64_t total = 0;  ///< all items; 0 when unknown
  double elapsed_seconds = 0;
  double rate = 0;                ///< items per second since the start
  double remaining_seconds = -1;  ///< negative when unknown
  bool finished = false;
  std::string note;  ///< how it goes, e.g. "loss 0.12"; may be empty
};

using ProgressCallback = std::function<void(const ProgressReport&)>;

/// Counts items and tells a callback; library code takes one and prints nothing itself.
/// Thread-safe.
class Progress {
 public:
  /// total = 0 means unknown. An empty callback makes every call a no-op.
  Progress(std::string task, std::int64_t total, ProgressCallback callback);
  void advance(std::int64_t items = 1);
  /// Words for the coming reports.
  void note(const std::string& text);
  /// Sends the last report; called by the destructor if not before.
  void finish();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  ProgressReport report(bool finished) const;

  std::mutex mutex_;
  std::string task_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  bool finished_ = false;
  std::string note_;
  ProgressCallback callback_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace ttt
