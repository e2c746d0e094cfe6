// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/picture_queue.h"

#include "core/media/encode_jpeg.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

namespace ttt::vision {
namespace {

using namespace std::chrono_literals;

class Queue : public testing::Test {
 protected:
  /// Pictures as wide as their place in the list says, whose files count when they are read.
  void add_pictures(int count) {
    for (int i = 0; i < count; ++i) {
      Image image{i + 1, 8, {}};
      image.rgb.assign(std::size_t{24} * static_cast<std::size_t>(i + 1), 90);
      const std::string file = encode_jpeg(image, 90);
      items_.push_back({std::to_string(i), {}, [this, file] {
                          while (!open_) std::this_thread::sleep_for(1ms);
                          ++reads_;
                          return std::vector<std::uint8_t>(file.begin(), file.end());
                        }});
    }
  }

  static PictureQueueOptions options(std::int64_t workers, std::int64_t capacity) {
    PictureQueueOptions result{.workers = workers, .capacity = capacity};
    result.preprocess.width = result.preprocess.height = 8;
    return result;
  }

  void wait_for_reads(int count) const {
    while (reads_ < count) std::this_thread::sleep_for(1ms);
  }

  std::vector<InputItem> items_;
  std::atomic<int> reads_ = 0;
  std::atomic<bool> open_ = true;
};

TEST_F(Queue, GivesOutPicturesInOrder) {
  add_pictures(50);
  for (const std::int64_t workers : {1, 3, 80}) {
    PictureQueue queue(items_, options(workers, 6));
    int next = 0;
    while (!queue.finished()) {
      for (const PreparedPicture& picture : queue.take(4)) {
        EXPECT_EQ(picture.item, static_cast<std::size_t>(next));
        ASSERT_FALSE(picture.error);
        EXPECT_EQ(picture.width, ++next);
        EXPECT_EQ(picture.height, 8);
        EXPECT_EQ(picture.pixels.width, 8);
        EXPECT_GT(picture.time_ms, 0);
      }
    }
    EXPECT_EQ(next, 50);
    EXPECT_TRUE(queue.take(4).empty());
  }
}

TEST_F(Queue, PausedItReadsAheadButDecodesNothing) {
  add_pictures(20);
  open_ = false;
  PictureQueue queue(items_, options(2, 6));
  std::future<std::vector<PreparedPicture>> taken;
  {
    const PictureQueue::Pause pause(queue);
    open_ = true;
    wait_for_reads(6);
    taken = std::async(std::launch::async, [&] { return queue.take(2); });
    EXPECT_EQ(taken.wait_for(50ms), std::future_status::timeout);
    EXPECT_EQ(reads_, 6);
  }
  EXPECT_EQ(taken.get().size(), 2U);
  wait_for_reads(8);
  EXPECT_EQ(queue.take(100).size(), 18U);
  EXPECT_EQ(reads_, 20);
}

TEST_F(Queue, FilesThatCannotBeReadHaveTheirPlace) {
  add_pictures(5);
  items_[1].read = []() -> std::vector<std::uint8_t> {
    throw Error(ErrorKind::input, "no such file", "1");
  };
  items_[3].read = [] { return std::vector<std::uint8_t>{1, 2, 3}; };
  PictureQueue queue(items_, options(2, 3));
  const auto pictures = queue.take(5);
  ASSERT_EQ(pictures.size(), 5U);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    EXPECT_EQ(pictures[i].item, i);
    EXPECT_EQ(pictures[i].error.has_value(), i == 1 || i == 3) << i;
  }
}

TEST_F(Queue, LargeFilesAreNotReadAheadWithoutBound) {
  for (int i = 0; i < 40; ++i)
    items_.push_back({std::to_string(i), {}, [this] {
                        while (!open_) std::this_thread::sleep_for(1ms);
                        ++reads_;
                        return std::vector<std::uint8_t>(std::size_t{20} << 20);
                      }});
  open_ = false;
  PictureQueue queue(items_, options(2, 40));
  {
    const PictureQueue::Pause pause(queue);
    open_ = true;
    std::this_thread::sleep_for(50ms);
    EXPECT_LT(reads_, 12);
  }
  EXPECT_EQ(queue.take(40).size(), 40U);
}

TEST_F(Queue, EndsWhileItIsPausedAndFull) {
  add_pictures(30);
  PictureQueue queue(items_, options(3, 10));
  const PictureQueue::Pause pause(queue);
  wait_for_reads(3);
}

}  // namespace
}  // namespace ttt::vision
