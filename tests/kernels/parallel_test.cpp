// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/parallel.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

namespace ttt::ops {
namespace {

constexpr int kThreads = 3;

/// Three threads for one test.
class ParallelParts : public ::testing::Test {
 protected:
  ParallelParts() : before_(at::get_num_threads()) { at::set_num_threads(kThreads); }
  ~ParallelParts() override { at::set_num_threads(before_); }

 private:
  int before_;
};

TEST_F(ParallelParts, RunOnThreadsOfTheirOwn) {
  std::array<int, kThreads> threads{-1, -1, -1};
  std::array<bool, kThreads> nested{};
  parallel_parts(kThreads, [&](std::int64_t i) {
    threads.at(static_cast<std::size_t>(i)) = at::get_thread_num();
    nested.at(static_cast<std::size_t>(i)) = at::in_parallel_region();
  });
  EXPECT_EQ(threads, (std::array<int, kThreads>{0, 1, 2}));
  EXPECT_EQ(nested, (std::array<bool, kThreads>{true, true, true}))
      << "what a part calls would start threads itself";
}

TEST_F(ParallelParts, RunInTheStateOfTheCaller) {
  const auto check = [](bool gradients, bool inference) {
    std::array<bool, kThreads> same{};
    parallel_parts(kThreads, [&](std::int64_t i) {
      same.at(static_cast<std::size_t>(i)) =
          at::GradMode::is_enabled() == gradients && c10::InferenceMode::is_enabled() == inference;
    });
    return same == std::array<bool, kThreads>{true, true, true};
  };
  EXPECT_TRUE(check(true, false));
  {
    const at::NoGradGuard no_grad;
    EXPECT_TRUE(check(false, false));
  }
  const c10::InferenceMode inference;
  EXPECT_TRUE(check(false, true));
}

TEST_F(ParallelParts, PassErrorsOn) {
  EXPECT_THROW(parallel_parts(kThreads,
                              [](std::int64_t i) {
                                if (i == 2) throw std::runtime_error("part 2");
                              }),
               std::runtime_error);
}

TEST_F(ParallelParts, MayBeMoreThanThreadsOrNone) {
  std::array<int, 10> calls{};
  parallel_parts(10, [&](std::int64_t i) { ++calls.at(static_cast<std::size_t>(i)); });
  for (const int count : calls) EXPECT_EQ(count, 1);
  parallel_parts(0, [](std::int64_t) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace ttt::ops
