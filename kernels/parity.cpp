// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/parity.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <string>

namespace ttt::ops {
namespace {

/// What the rounding of inputs does to float results: the reference is compared with itself without
/// any, and on a GPU products and sums join otherwise, so that some inputs are rounded the other
/// way.
double input_tolerance(const OpCase& op_case, Backend backend, at::ScalarType inputs) {
  return op_case.rounds_inputs && backend != Backend::cpu ? rounding_tolerance(inputs) : 0;
}

/// What the rounding of factors does to a result: several of them meet in a term. In iterations it
/// adds up: after five of Newton-Schulz on [384, 768] and [768, 1536] the published bfloat16 code
/// and the reference are each 4 to 5 % of the largest value away from the exact result, 3 to 4 %
/// from each other, and ours up to 7 % from the reference.
double factor_tolerance(const OpCase& op_case, Backend backend, at::ScalarType inputs) {
  const bool rounds =
      op_case.rounds_factors && backend != Backend::reference && inputs == at::kBFloat16;
  return rounds ? 4 * op_case.roundings * rounding_tolerance(inputs) : 0;
}

}  // namespace

double rounding_tolerance(at::ScalarType dtype) {
  // Twice the largest rounding error of the narrow types: the value may lie between two of them.
  if (dtype == at::kBFloat16) return 1.0 / 128;
  if (dtype == at::kHalf) return 1.0 / 1024;
  return 1e-5;
}

double output_tolerance(const OpCase& op_case, Backend backend, at::ScalarType inputs,
                        at::ScalarType output) {
  // On GPUs float states enter products with bfloat16 activations with 16 bits of precision, and
  // gates that are near a step make more of the rest.
  constexpr double kSplitState = 1e-4;
  const bool split = backend == Backend::cuda && inputs == at::kBFloat16;
  return std::max({rounding_tolerance(output), split ? kSplitState : 0.0,
                   factor_tolerance(op_case, backend, inputs),
                   input_tolerance(op_case, backend, inputs)});
}

double gradient_tolerance(const OpCase& op_case, Backend backend, at::ScalarType inputs,
                          at::ScalarType gradient) {
  // The reference is compared with itself in double, where nothing on the way is rounded.
  const double factor = backend == Backend::reference ? 2 : 1;
  return std::max(factor * std::max(rounding_tolerance(inputs), rounding_tolerance(gradient)),
                  factor_tolerance(op_case, backend, inputs));
}

Tensors as_leaves(const Tensors& inputs) {
  Tensors leaves;
  for (const at::Tensor& input : inputs) leaves.push_back(input.detach().requires_grad_());
  return leaves;
}

at::Tensor weighted_sum(const Tensors& outputs) {
  at::Tensor total;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const at::Tensor factors =
        case_tensor("factor" + std::to_string(i), outputs[i].sizes()).to(outputs[i].device());
    const at::Tensor sum = (outputs[i].to(at::kDouble) * factors).sum();
    total = total.defined() ? total + sum : sum;
  }
  return total;
}

Tensors gradients(const OpCase& op_case, const Tensors& inputs, Backend backend) {
  const Tensors leaves = as_leaves(inputs);
  const at::Tensor loss = weighted_sum(op_case.run(leaves, backend));
  return torch::autograd::grad({loss}, leaves);
}

}  // namespace ttt::ops
