// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_pool.h"

#include "core/arena.h"

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace ttt::test {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

struct Block {
  std::byte* data;
  std::size_t size;
  std::byte mark;
};

void expect_marked(const Block& block) {
  for (std::size_t i = 0; i < block.size; i += 61) ASSERT_EQ(block.data[i], block.mark);
  ASSERT_EQ(block.data[block.size - 1], block.mark);
}

/// Takes and frees blocks at random; no block may change what another one holds.
void use_at_random(Arena& arena, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Block> blocks;
  for (int step = 0; step < 2000; ++step) {
    if (blocks.size() < 20 && random() % 2 == 0) {
      const std::size_t size = 1 + random() % 30000;
      auto* data = static_cast<std::byte*>(arena.allocate(size));
      ASSERT_NE(data, nullptr);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(data) % Arena::kAlignment, 0u);
      blocks.push_back({data, size, static_cast<std::byte>(random())});
      std::memset(data, static_cast<int>(blocks.back().mark), size);
    } else if (!blocks.empty()) {
      const std::size_t i = random() % blocks.size();
      expect_marked(blocks[i]);
      ASSERT_TRUE(arena.release(blocks[i].data));
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (const Block& block : blocks) {
    expect_marked(block);
    ASSERT_TRUE(arena.release(block.data));
  }
}

TEST(Arena, BlocksOfManyThreadsDontOverlapAndGapsGrowTogether) {
  Arena arena(64 * kMebibyte);
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      threads.emplace_back([&arena, seed] { use_at_random(arena, seed); });
  }
  EXPECT_EQ(arena.statistics().used, 0u);
  EXPECT_LT(arena.statistics().reached, 5 * kMebibyte);  // gaps were used again
  EXPECT_NE(arena.allocate(61 * kMebibyte), nullptr);    // one gap is left
}

TEST(Arena, TakesTheSmallestGapThatHolds) {
  Arena arena(64 * kMebibyte);
  void* const large = arena.allocate(3 * kMebibyte);
  void* const between = arena.allocate(64);
  void* const small = arena.allocate(2 * kMebibyte);
  void* const last = arena.allocate(64);
  EXPECT_TRUE(arena.release(large));
  EXPECT_TRUE(arena.release(small));
  EXPECT_EQ(arena.allocate(2 * kMebibyte - 10), small);
  EXPECT_EQ(arena.allocate(2 * kMebibyte), large);
  EXPECT_TRUE(arena.release(between));
  EXPECT_TRUE(arena.release(last));
}

TEST(Arena, SaysWhatItCannotServe) {
  Arena arena(8 * kMebibyte);
  EXPECT_EQ(arena.allocate(0), nullptr);
  EXPECT_EQ(arena.allocate(9 * kMebibyte), nullptr);
  EXPECT_EQ(arena.allocate(~std::size_t{0}), nullptr);
  int other = 0;
  EXPECT_FALSE(arena.release(&other));
  auto* block = static_cast<std::byte*>(arena.allocate(4096));
  EXPECT_FALSE(arena.release(block + 64));
  EXPECT_TRUE(arena.release(block));
  EXPECT_FALSE(arena.release(block));
  Arena none(0);
  EXPECT_EQ(none.allocate(64), nullptr);
  EXPECT_FALSE(none.release(block));
  none.trim();
}

TEST(Arena, TrimmedPagesAreClearAndBlocksKeepTheirs) {
  Arena arena(32 * kMebibyte);
  auto* kept = static_cast<std::byte*>(arena.allocate(kMebibyte + 100));
  auto* freed = static_cast<std::byte*>(arena.allocate(4 * kMebibyte));
  std::memset(kept, 1, kMebibyte + 100);
  std::memset(freed, 2, 4 * kMebibyte);
  arena.release(freed);
  arena.trim();
  expect_marked({kept, kMebibyte + 100, std::byte{1}});
  EXPECT_EQ(arena.allocate(4 * kMebibyte), freed);
  EXPECT_EQ(freed[2 * kMebibyte], std::byte{0});
}

long page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

#ifndef __SANITIZE_ADDRESS__  // there the pool leaves everything to LibTorch

TEST(TensorPool, LaterPassesAskTheSystemForNoPages) {
  use_tensor_pool();
  const auto pass = [] {
    const at::Tensor a = at::full({1 << 21}, 2.0), b = at::full({1 << 20}, 3.0);
    return (a.narrow(0, 0, 1 << 20) * b).sum().item<double>();
  };
  EXPECT_EQ(pass(), 6.0 * (1 << 20));
  const long before = page_faults();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(pass(), 6.0 * (1 << 20));
  EXPECT_LT(page_faults() - before, 256);  // of 4096 small pages that one pass touches
}

TEST(TensorPool, TensorsFromBeforeAndSmallOnesEndAsTheyBegan) {
  at::Tensor before = at::ones({1 << 20});
  use_tensor_pool();
  use_tensor_pool();
  at::Tensor small = at::ones({3}), large = at::ones({1 << 20}), none = at::empty({0});
  large.resize_({1 << 21});
  EXPECT_EQ(large.narrow(0, 0, 1 << 20).sum().item<double>(), 1 << 20);
  before = at::Tensor();
  trim_tensor_pool();
  EXPECT_EQ((large.narrow(0, 0, 3) + small).sum().item<double>(), 6.0);
}

TEST(TensorPool, LeavesALaterAllocatorInPlace) {
  use_tensor_pool();
  c10::Allocator* const pool = c10::GetCPUAllocator();
  c10::SetCPUAllocator(c10::GetDefaultCPUAllocator());
  use_tensor_pool();
  c10::Allocator* const left = c10::GetCPUAllocator();
  c10::SetCPUAllocator(pool);
  EXPECT_EQ(left, c10::GetDefaultCPUAllocator());
}

#endif

class Counter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t, c10::Device) override {
    bytes += size;
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t bytes = 0;
};

TEST(TensorPool, ProfilersSeeItsTensors) {
  use_tensor_pool();
  const auto counter = std::make_shared<Counter>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, counter);
  at::Tensor large = at::empty({1 << 20});
  EXPECT_EQ(counter->bytes, 4 << 20);
  large = at::Tensor();
  EXPECT_EQ(counter->bytes, 0);
}

TEST(TensorPool, WhatNeverFitsIsRefusedAsBefore) {
  use_tensor_pool();
  EXPECT_THROW(at::empty({std::int64_t{1} << 55}, at::kByte), c10::Error);
}

}  // namespace
}  // namespace ttt::test
