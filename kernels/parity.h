// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// How implementations of an op are compared, and what they may differ by: for tests and self-test.

#include "kernels/registry.h"

#include <vector>

namespace ttt::ops {

using Tensors = std::vector<at::Tensor>;

/// What two implementations may differ by in a result of this type, by relative_to_max: rounding of
/// the result, and for float the order of the sums.
double rounding_tolerance(at::ScalarType dtype);

/// What an output of type `output` may differ by from the reference's, for inputs of type `inputs`.
double output_tolerance(const OpCase& op_case, Backend backend, at::ScalarType inputs,
                        at::ScalarType output);

/// The same for a gradient; gradients pass through intermediate tensors of the inputs' type.
double gradient_tolerance(const OpCase& op_case, Backend backend, at::ScalarType inputs,
                          at::ScalarType gradient);

/// The tensors as leaves of a new autograd graph.
Tensors as_leaves(const Tensors& inputs);

/// A scalar that depends on every output element, each with another factor.
at::Tensor weighted_sum(const Tensors& outputs);

/// Gradients of weighted_sum of the case's outputs with respect to its inputs.
Tensors gradients(const OpCase& op_case, const Tensors& inputs, Backend backend);

}  // namespace ttt::ops
