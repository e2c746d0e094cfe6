// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/random.h"

#include "training/data_order.h"
#include "training/ordered_prefetch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

namespace ttt::training {
namespace {

// Run records hold seeds, so the sequence is part of the interface. First value: the published
// SplitMix64 test vector for seed 0.
TEST(Random, SequenceIsFixed) {
  Random random(0);
  EXPECT_EQ(random.next(), 0xE220A8397B1DCDAFULL);
  EXPECT_EQ(random.next(), 0x6E789E6AA1B965F4ULL);
}

template <typename Draw>
std::pair<double, double> mean_and_variance(Draw draw) {
  constexpr int kDraws = 40000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = draw();
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  return {mean, squares / kDraws - mean * mean};
}

TEST(Random, DistributionsHaveTheirMoments) {
  Random random(5);
  const auto [uniform_mean, uniform_variance] = mean_and_variance([&] { return random.uniform(); });
  EXPECT_NEAR(uniform_mean, 0.5, 0.01);
  EXPECT_NEAR(uniform_variance, 1.0 / 12, 0.003);
  const auto [normal_mean, normal_variance] = mean_and_variance([&] { return random.normal(); });
  EXPECT_NEAR(normal_mean, 0, 0.02);
  EXPECT_NEAR(normal_variance, 1, 0.03);
  for (const auto& [a, b] : {std::pair{0.8, 0.8}, {1.0, 1.0}, {3.0, 0.5}}) {
    const auto [mean, variance] = mean_and_variance([&] { return random.beta(a, b); });
    EXPECT_NEAR(mean, a / (a + b), 0.01);
    EXPECT_NEAR(variance, a * b / ((a + b) * (a + b) * (a + b + 1)), 0.004);
  }
}

TEST(Random, BelowReachesAllValuesAndNoOther) {
  Random random(1);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 500; ++i) seen.insert(random.below(7));
  EXPECT_EQ(seen, (std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(EpochOrder, IsAPermutationThatDependsOnSeedAndEpoch) {
  const auto order = epoch_order(1000, 3, 7);
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::int64_t i = 0; i < 1000; ++i) ASSERT_EQ(sorted[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(order, epoch_order(1000, 3, 7));
  EXPECT_NE(order, epoch_order(1000, 3, 8));
  EXPECT_NE(order, epoch_order(1000, 4, 7));
  EXPECT_NE(order, sorted);
  EXPECT_TRUE(epoch_order(0, 3, 7).empty());
}

TEST(Seeds, DifferBySampleEpochAndPurpose) {
  const std::set<std::uint64_t> seeds{sample_seed(1, 0, 0),   sample_seed(1, 0, 1),
                                      sample_seed(1, 1, 0),   sample_seed(2, 0, 0),
                                      step_seed(1, "mix", 0), step_seed(1, "drop", 0)};
  EXPECT_EQ(seeds.size(), 6U);
}

TEST(OrderedPrefetch, KeepsTheOrderForAnyNumberOfWorkers) {
  for (const int workers : {0, 1, 3, 8}) {
    OrderedPrefetch<std::int64_t> prefetch(
        50, [](std::int64_t i) { return i * i; }, workers);
    for (std::int64_t i = 0; i < 50; ++i) ASSERT_EQ(prefetch.next(), i * i);
  }
}

TEST(OrderedPrefetch, ThrowsInThePlaceOfTheItem) {
  for (const int workers : {0, 2}) {
    OrderedPrefetch<int> prefetch(
        3,
        [](std::int64_t i) {
          if (i == 1) throw std::runtime_error("one");
          return static_cast<int>(i);
        },
        workers);
    EXPECT_EQ(prefetch.next(), 0);
    EXPECT_THROW(prefetch.next(), std::runtime_error);
  }
}

TEST(OrderedPrefetch, CanBeDroppedHalfway) {
  OrderedPrefetch<int> prefetch(
      1000, [](std::int64_t i) { return static_cast<int>(i); }, 4);
  EXPECT_EQ(prefetch.next(), 0);
}

}  // namespace
}  // namespace ttt::training
