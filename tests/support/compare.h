// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/relative_error.h"

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

namespace ttt::test {

using ttt::relative_to_max;

/// Compares element by element with a symmetric relative error whose floor comes from the mean
/// magnitude, so that elements near zero don't dominate: |a−e| ≤ tolerance · max(|a|, |e|,
/// mean|e|). Shapes and NaN positions must agree. A failure names the worst element and its index.
testing::AssertionResult is_close(const at::Tensor& actual, const at::Tensor& expected,
                                  double tolerance);

}  // namespace ttt::test
