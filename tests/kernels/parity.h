// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the parity tests of all backends share.

#include "kernels/registry.h"

#include <string>
#include <string_view>
#include <vector>

namespace ttt::test {

using Tensors = std::vector<at::Tensor>;

/// What two implementations may differ by, relative to the tensor's largest value: rounding of the
/// result, and for float the order of the sums.
double tolerance(at::ScalarType dtype);

/// What a result may differ by when the factors of its products, too, are rounded to the dtype of
/// the activations; else 0.
double factor_tolerance(const ops::OpCase& op_case, at::ScalarType dtype);

/// `at_least`: a floor of the tolerance.
void expect_equal(const Tensors& actual, const Tensors& expected, double at_least = 0);

Tensors as_leaves(const Tensors& inputs);

/// A scalar that depends on every output element, each with another factor.
at::Tensor weighted_sum(const Tensors& outputs);

/// Gradients of weighted_sum of the case's outputs with respect to its inputs.
Tensors gradients(const ops::OpCase& op_case, const Tensors& inputs, ops::Backend backend);

const ops::Op& op_of(std::string_view name);
std::vector<std::string> op_names();

}  // namespace ttt::test
