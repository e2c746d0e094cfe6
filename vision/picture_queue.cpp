// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/picture_queue.h"

#include "core/cancel.h"

#include <chrono>
#include <new>

namespace ttt::vision {
namespace {

// A signal handler can't notify a condition variable, so waits look up this often.
constexpr std::chrono::milliseconds kCancelPoll{50};

PreparedPicture prepare(const InputItem& item, const PictureQueueOptions& options) {
  PreparedPicture picture;
  const auto start = std::chrono::steady_clock::now();
  try {
    const Image image = decode_image(item.read(), options.decode, item.name);
    picture.width = image.width;
    picture.height = image.height;
    const Image cropped = resize_and_crop(image, options.preprocess);
    picture.pixels.resize(cropped.rgb.size());
    normalize(cropped, options.preprocess, picture.pixels.data());
  } catch (const Error& error) {
    picture.error = error;
  } catch (const std::bad_alloc&) {
    picture.error = Error(ErrorKind::memory, "not enough memory to decode the picture", item.name,
                          "make the picture smaller");
  } catch (const std::exception& error) {
    picture.error = Error(ErrorKind::internal, error.what(), item.name);
  }
  picture.time_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return picture;
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
  room_.notify_all();
}

void PictureQueue::work() {
  const auto capacity = static_cast<std::size_t>(options_.capacity);
  while (true) {
    std::size_t item = 0;
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return closing_ || next_ - given_out_ < capacity; });
      if (closing_ || next_ == items_.size() || cancel_requested()) return;
      item = next_++;
    }
    PreparedPicture picture = prepare(items_[item], options_);
    picture.item = item;
    {
      const std::scoped_lock lock(mutex_);
      prepared_.emplace(item, std::move(picture));
    }
    ready_.notify_one();
  }
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
    room_.notify_one();
  }
  return batch;
}

}  // namespace ttt::vision
