// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace ttt::nvs {

/// Work of several clients for one thread, of which only the latest of each client counts: a client
/// has one place, which its newer request takes over from the one that waits there. Places are
/// served in the order in which they were taken, so clients take turns however much they ask for.
class LatestQueue {
 public:
  /// At most this many clients wait at a time.
  explicit LatestQueue(std::size_t capacity = 64) : capacity_(capacity) {}

  enum class Outcome {
    done,      ///< the work ran
    replaced,  ///< a newer request came before its turn
  };

  /// Waits until serve() has run the work, and rethrows what it threw. `sequence` grows with a
  /// client's requests; one that arrives behind a newer that still waits is replaced at once.
  /// Throws Error(usage) when the queue is full and Error(interrupted) when it is closed.
  Outcome request(const std::string& client, std::int64_t sequence, std::function<void()> work);

  /// Runs the next work on the calling thread, waiting for one at most so long; false when there
  /// was none. One thread at a time.
  bool serve(std::chrono::milliseconds wait);

  /// Ends all waiting, now and later.
  void close();

  struct Counts {
    std::int64_t done = 0;
    std::int64_t replaced = 0;
    std::size_t waiting = 0;
  };
  Counts counts() const;

 private:
  struct Place;

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;   ///< for serve()
  std::condition_variable answered_;  ///< for request()
  std::list<std::shared_ptr<Place>> places_;
  Counts counts_;
  bool closed_ = false;
};

}  // namespace ttt::nvs
