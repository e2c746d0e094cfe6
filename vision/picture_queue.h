// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.h"
#include "core/inputs/inputs.h"
#include "core/media/decode.h"
#include "core/media/preprocess.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace ttt::vision {

/// A decoded and cropped picture, or why there is none.
struct PreparedPicture {
  std::size_t item = 0;
  std::optional<Error> error;
  int width = 0, height = 0;  ///< as decoded
  Image pixels;               ///< resized and cropped
  double time_ms = 0;
};

struct PictureQueueOptions {
  PreprocessOptions preprocess;
  DecodeMode decode = DecodeMode::photo;
  std::int64_t workers = 1;
  std::int64_t capacity = 16;  ///< pictures prepared ahead, which bounds the memory
};

/// Reads, decodes, resizes and crops items in worker threads and gives them out in order.
class PictureQueue {
 public:
  PictureQueue(std::span<const InputItem> items, PictureQueueOptions options);
  ~PictureQueue();
  PictureQueue(const PictureQueue&) = delete;
  PictureQueue& operator=(const PictureQueue&) = delete;

  /// The next pictures in order, `count` of them or what is left. Fewer, or none, once cancellation
  /// was requested.
  std::vector<PreparedPicture> take(std::int64_t count);
  /// All items were given out.
  bool finished() const { return given_out_ == items_.size(); }

  /// While it lives the workers prepare no picture, though they go on reading files: threads that
  /// wait for each other, as a model's do, lose more to a decoder beside them than it takes. It
  /// begins when the pictures in work are done.
  class Pause {
   public:
    explicit Pause(PictureQueue& queue) : queue_(queue) { queue_.pause(); }
    ~Pause() { queue_.go_on(); }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    PictureQueue& queue_;
  };

 private:
  /// An item whose file was read, or not.
  struct ReadItem {
    std::vector<std::uint8_t> bytes;
    PreparedPicture picture;
  };

  void work();
  bool can_read() const;
  bool can_prepare() const { return !paused_ && !read_.empty(); }
  void read_one(std::unique_lock<std::mutex>& lock);
  void prepare_one(std::unique_lock<std::mutex>& lock);
  void pause();
  void go_on();

  std::span<const InputItem> items_;
  PictureQueueOptions options_;
  std::mutex mutex_;
  std::condition_variable work_, ready_;
  std::map<std::size_t, ReadItem> read_;
  std::map<std::size_t, PreparedPicture> prepared_;
  std::size_t read_bytes_ = 0;  // of the files in read_
  std::size_t next_ = 0;        // the first item that no worker has taken
  std::size_t given_out_ = 0;   // items handed to the caller
  std::size_t in_work_ = 0;     // items that workers prepare now
  bool paused_ = false;
  bool closing_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace ttt::vision
