// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace ttt {

/// Largest |actual − expected| over the largest |expected|: the measure of all our tolerances.
/// Infinite when shapes differ, when one side has a NaN where the other has none, or when all that
/// is expected is 0 and something else is there.
double relative_to_max(const at::Tensor& actual, const at::Tensor& expected);

}  // namespace ttt
