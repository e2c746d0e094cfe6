// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/parity.h"

#include "tests/support/compare.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <stdexcept>

namespace ttt::test {

double tolerance(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? 1.0 / 128 : 1e-5;
}

double factor_tolerance(const ops::OpCase& op_case, at::ScalarType dtype) {
  return op_case.rounds_factors ? 2 * tolerance(dtype) : 0;
}

void expect_equal(const Tensors& actual, const Tensors& expected, double at_least) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].scalar_type(), expected[i].scalar_type());
    ASSERT_EQ(actual[i].sizes(), expected[i].sizes());
    EXPECT_LE(relative_to_max(actual[i], expected[i]),
              std::max(at_least, tolerance(expected[i].scalar_type())))
        << "output " << i << ": " << is_close(actual[i], expected[i], 1e-3).message();
  }
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
        ops::case_tensor("factor" + std::to_string(i), outputs[i].sizes()).to(outputs[i].device());
    const at::Tensor sum = (outputs[i].to(at::kDouble) * factors).sum();
    total = total.defined() ? total + sum : sum;
  }
  return total;
}

Tensors gradients(const ops::OpCase& op_case, const Tensors& inputs, ops::Backend backend) {
  const Tensors leaves = as_leaves(inputs);
  const at::Tensor loss = weighted_sum(op_case.run(leaves, backend));
  return torch::autograd::grad({loss}, leaves);
}

const ops::Op& op_of(std::string_view name) {
  for (const ops::Op& op : ops::registry())
    if (op.name == name) return op;
  throw std::runtime_error("no such op");
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const ops::Op& op : ops::registry()) names.emplace_back(op.name);
  return names;
}

}  // namespace ttt::test
