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

/// A decoded and normalised picture, or why there is none.
struct PreparedPicture {
  std::size_t item = 0;
  std::optional<Error> error;
  int width = 0, height = 0;  ///< as decoded
  std::vector<float> pixels;  ///< [3,H,W], normalised
  double time_ms = 0;
};

struct PictureQueueOptions {
  PreprocessOptions preprocess;
  DecodeMode decode = DecodeMode::photo;
  std::int64_t workers = 1;
  std::int64_t capacity = 16;  ///< pictures prepared ahead, which bounds the memory
};

/// Reads, decodes and pre-processes items in worker threads and gives them out in order.
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

 private:
  void work();

  std::span<const InputItem> items_;
  PictureQueueOptions options_;
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  std::map<std::size_t, PreparedPicture> prepared_;
  std::size_t next_ = 0;       // the first item that no worker has taken
  std::size_t given_out_ = 0;  // items handed to the caller
  bool closing_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace ttt::vision
