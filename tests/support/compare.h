// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

namespace ttt::test {

/// Largest |actual − expected| over the largest |expected|: the measure of the golden set's
/// tolerances. Shapes must be equal; infinite when one side has a NaN where the other has none.
double relative_to_max(const at::Tensor& actual, const at::Tensor& expected);

/// Compares element by element with a symmetric relative error whose floor comes from the mean
/// magnitude, so that elements near zero don't dominate: |a−e| ≤ tolerance · max(|a|, |e|,
/// mean|e|). Shapes and NaN positions must agree. A failure names the worst element and its index.
testing::AssertionResult is_close(const at::Tensor& actual, const at::Tensor& expected,
                                  double tolerance);

}  // namespace ttt::test
