// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace ttt::training {

/// Makes items 0, 1, 2, … in worker threads, a few ahead, and hands them out in order. What make()
/// throws is thrown by the next() of that item. Without workers, next() makes the item itself.
template <typename T>
class OrderedPrefetch {
 public:
  OrderedPrefetch(std::int64_t count, std::function<T(std::int64_t)> make, int workers)
      : count_(count), make_(std::move(make)), ahead_(workers + 1) {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
  }

  ~OrderedPrefetch() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  OrderedPrefetch(const OrderedPrefetch&) = delete;
  OrderedPrefetch& operator=(const OrderedPrefetch&) = delete;

  T next() {
    if (threads_.empty()) return make_(taken_++);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return finished_.contains(taken_); });
    Result result = std::move(finished_.extract(taken_).mapped());
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    if (result.error) std::rethrow_exception(result.error);
    return std::move(result.item);
  }

 private:
  struct Result {
    T item;
    std::exception_ptr error;
  };

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopped_ || started_ < taken_ + ahead_; });
      if (stopped_ || started_ >= count_) return;
      const std::int64_t index = started_++;
      lock.unlock();
      Result result;
      try {
        result.item = make_(index);
      } catch (...) {
        result.error = std::current_exception();
      }
      lock.lock();
      finished_.emplace(index, std::move(result));
      changed_.notify_all();
    }
  }

  std::int64_t count_;
  std::function<T(std::int64_t)> make_;
  std::int64_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, Result> finished_;
  std::int64_t started_ = 0;
  std::int64_t taken_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ttt::training
