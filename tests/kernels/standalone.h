// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the tests without LibTorch share: made-up values, and comparison with host loops in double.

#include "tests/kernels/device_memory.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace ttt::test {

using ops::cuda::DataType;
using ops::cuda::Stream;

#define TTT_REQUIRE_DEVICE()                                                       \
  if (const std::string problem = ::ttt::test::device_problem(); !problem.empty()) \
  GTEST_SKIP() << "no GPU to run on: " << problem

/// Values in (-scale, scale) that depend on name and place alone, rounded to the type.
std::vector<float> made_up(std::string_view name, std::size_t count, DataType type,
                           float scale = 1);

/// Largest difference over the largest expected magnitude; every value must be a number.
void expect_close(const std::vector<float>& actual, const std::vector<double>& expected,
                  double tolerance, std::string_view what);

/// 2^-7 for results rounded to bfloat16 (with room for sums in another order), 4e-6 for float.
double tolerance(DataType type);

}  // namespace ttt::test
