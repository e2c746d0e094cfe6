// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/viewer/latest_queue.h"

#include "core/error.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace ttt::nvs {

struct LatestQueue::Place {
  enum class State { waiting, done, replaced, closed };

  std::string client;
  std::int64_t sequence = 0;
  std::function<void()> work;
  State state = State::waiting;
  std::exception_ptr error;
};

LatestQueue::Outcome LatestQueue::request(const std::string& client, std::int64_t sequence,
                                          std::function<void()> work) {
  std::unique_lock lock(mutex_);
  TTT_CHECK(!closed_, interrupted, "the queue is closed");
  const auto mine = std::make_shared<Place>();
  mine->client = client;
  mine->sequence = sequence;
  mine->work = std::move(work);
  const auto found = std::find_if(places_.begin(), places_.end(),
                                  [&](const auto& place) { return place->client == client; });
  if (found == places_.end()) {
    TTT_CHECK(places_.size() < capacity_, usage, "too many clients are waiting", {},
              "try again later");
    places_.push_back(mine);
  } else {
    ++counts_.replaced;
    if ((*found)->sequence > sequence) return Outcome::replaced;
    (*found)->state = Place::State::replaced;
    *found = mine;
    answered_.notify_all();
  }
  arrived_.notify_one();
  answered_.wait(lock, [&] { return mine->state != Place::State::waiting; });
  if (mine->error) std::rethrow_exception(mine->error);
  TTT_CHECK(mine->state != Place::State::closed, interrupted, "the queue is closed");
  return mine->state == Place::State::done ? Outcome::done : Outcome::replaced;
}

bool LatestQueue::serve(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, wait, [&] { return closed_ || !places_.empty(); });
  if (closed_ || places_.empty()) return false;
  const std::shared_ptr<Place> next = places_.front();
  places_.pop_front();
  lock.unlock();
  std::exception_ptr error;
  try {
    next->work();
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  next->error = error;
  next->state = Place::State::done;
  ++counts_.done;
  answered_.notify_all();
  return true;
}

void LatestQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto& place : places_) place->state = Place::State::closed;
  places_.clear();
  arrived_.notify_all();
  answered_.notify_all();
}

LatestQueue::Counts LatestQueue::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.waiting = places_.size();
  return counts;
}

}  // namespace ttt::nvs
