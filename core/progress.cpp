// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/progress.h"

#include <utility>

namespace ttt {

Progress::Progress(std::string task, std::int64_t total, ProgressCallback callback)
    : task_(std::move(task)), total_(total), callback_(std::move(callback)) {}

void Progress::advance(std::int64_t items) {
  if (!callback_) return;
  const std::scoped_lock lock(mutex_);
  done_ += items;
  callback_(report(false));
}

void Progress::note(const std::string& text) {
  const std::scoped_lock lock(mutex_);
  note_ = text;
}

void Progress::finish() {
  if (!callback_) return;
  const std::scoped_lock lock(mutex_);
  if (std::exchange(finished_, true)) return;
  callback_(report(true));
}

Progress::~Progress() {
  try {
    finish();
  } catch (...) {  // A destructor must not throw; a lost last report harms nobody.
  }
}

ProgressReport Progress::report(bool finished) const {
  ProgressReport r;
  r.task = task_;
  r.done = done_;
  r.total = total_;
  r.elapsed_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (r.elapsed_seconds > 0) r.rate = static_cast<double>(done_) / r.elapsed_seconds;
  if (total_ > 0 && r.rate > 0) r.remaining_seconds = static_cast<double>(total_ - done_) / r.rate;
  r.finished = finished;
  r.note = note_;
  return r;
}

}  // namespace ttt
