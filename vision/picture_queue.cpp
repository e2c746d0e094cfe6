// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/picture_queue.h"

#include "core/cancel.h"
#include "core/media/part.h"

#include <chrono>
#include <new>

namespace ttt::vision {
namespace {

// A signal handler can't notify a condition variable, so waits look up this often.
constexpr std::chrono::milliseconds kCancelPoll{50};

// Of files that wait for a decoder. Pictures are bounded by their number.
constexpr std::size_t kMaxReadBytes = std::size_t{64} << 20;

/// Runs a step of an item's way and notes its time, or why it failed.
template <typename Step>
void run_step(const InputItem& item, PreparedPicture& picture, const Step& step) {
  const auto start = std::chrono::steady_clock::now();
  try {
    step();
  } catch (const Error& error) {
    picture.error = error;
  } catch (const std::bad_alloc&) {
    picture.error = Error(ErrorKind::memory, "not enough memory to decode the picture", item.name,
                          "make the picture smaller");
  } catch (const std::exception& error) {
    picture.error = Error(ErrorKind::internal, error.what(), item.name);
  }
  picture.time_ms +=
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

PictureQueue::PictureQueue(std::span<const InputItem> items, PictureQueueOptions options)
    : items_(items), options_(options) {
  const auto useful = std::min(static_cast<std::size_t>(options_.workers), items_.size());
  for (std::size_t i = 0; i < useful; ++i) threads_.emplace_back([this] { work(); });
}

PictureQueue::~PictureQueue() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  work_.notify_all();
}

void PictureQueue::pause() {
  std::unique_lock lock(mutex_);
  paused_ = true;
  ready_.wait(lock, [&] { return in_work_ == 0; });
}

void PictureQueue::go_on() {
  {
    const std::scoped_lock lock(mutex_);
    paused_ = false;
  }
  work_.notify_all();
}

bool PictureQueue::can_read() const {
  return next_ < items_.size() &&
         next_ - given_out_ < static_cast<std::size_t>(options_.capacity) &&
         read_bytes_ < kMaxReadBytes;
}

void PictureQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return closing_ || can_prepare() || can_read(); });
    if (closing_ || cancel_requested()) return;
    if (can_prepare())
      prepare_one(lock);
    else
      read_one(lock);
  }
}

void PictureQueue::read_one(std::unique_lock<std::mutex>& lock) {
  ReadItem read;
  const std::size_t item = read.picture.item = next_++;
  lock.unlock();
  run_step(items_[item], read.picture, [&] { read.bytes = items_[item].read(); });
  lock.lock();
  if (read.picture.error) {
    prepared_.emplace(item, std::move(read.picture));
    ready_.notify_one();
  } else {
    read_bytes_ += read.bytes.size();
    read_.emplace(item, std::move(read));
  }
}

void PictureQueue::prepare_one(std::unique_lock<std::mutex>& lock) {
  const auto first = read_.extract(read_.begin());
  const std::size_t item = first.key();
  const ReadItem& read = first.mapped();
  read_bytes_ -= read.bytes.size();
  ++in_work_;
  lock.unlock();
  work_.notify_one();  // there may be room to read again
  PreparedPicture picture{.item = item, .time_ms = read.picture.time_ms};
  run_step(items_[item], picture, [&] {
    const auto needed = [&](int width, int height) {
      return preprocess_source(width, height, options_.preprocess);
    };
    const ImagePart part =
        decode_image_part(read.bytes, options_.decode, items_[item].name, needed);
    picture.width = part.whole_width;
    picture.height = part.whole_height;
    picture.pixels = resize_and_crop(part, options_.preprocess);
  });
  lock.lock();
  --in_work_;
  prepared_.emplace(item, std::move(picture));
  ready_.notify_all();  // who takes and who pauses
}

std::vector<PreparedPicture> PictureQueue::take(std::int64_t count) {
  std::vector<PreparedPicture> batch;
  std::unique_lock lock(mutex_);
  while (static_cast<std::int64_t>(batch.size()) < count && given_out_ < items_.size()) {
    const auto found = prepared_.find(given_out_);
    if (found == prepared_.end()) {
      if (cancel_requested()) break;
      ready_.wait_for(lock, kCancelPoll);
      continue;
    }
    batch.push_back(std::move(found->second));
    prepared_.erase(found);
    ++given_out_;
    work_.notify_one();
  }
  return batch;
}

}  // namespace ttt::vision
