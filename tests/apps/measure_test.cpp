// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/measure.h"

#include <gtest/gtest.h>

namespace ttt::cli {
namespace {

// The recording of a graph was in the first sample where less was warmed up.
TEST(Measure, WarmsUpBeyondTheFirstPasses) {
  std::int64_t passes = 0;
  const auto passes_outside_samples = [&](const MeasureOptions& options) {
    passes = 0;
    const Samples samples = measure([&] { ++passes; }, options);
    return passes - samples.passes * static_cast<std::int64_t>(samples.seconds.size());
  };
  constexpr std::int64_t kTrial = 1;  // tells how many passes a sample takes
  for (const std::int64_t warm_up : {1, 2, 3})
    EXPECT_EQ(passes_outside_samples({warm_up, 2, 3}), 3 + kTrial);
  EXPECT_EQ(passes_outside_samples({5, 2, 3}), 5 + kTrial);
  EXPECT_EQ(passes_outside_samples({1, 2}), 1 + kTrial);
  EXPECT_EQ(passes_outside_samples({0, 2, 3}), 0);  // asked for
}

}  // namespace
}  // namespace ttt::cli
