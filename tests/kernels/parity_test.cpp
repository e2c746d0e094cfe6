// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Every op of the registry: the CPU version against the reference, forward and gradients, in each
// dtype and instruction set; and the reference against finite differences in double.
#include "tests/kernels/parity.h"

#include "kernels/registry.h"
#include "kernels/support/cpu_isa.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <tuple>

namespace ttt::ops {
namespace {

using namespace test;

class CpuParity : public testing::TestWithParam<std::tuple<std::string, at::ScalarType, CpuIsa>> {};

TEST_P(CpuParity, MatchesReference) {
  const auto& [name, dtype, isa] = GetParam();
  if (isa > best_cpu_isa()) GTEST_SKIP() << "this processor has no " << to_string(isa);
  const ScopedCpuIsa scoped(isa);
  for (const OpCase& op_case : op_of(name).cases()) {
    if (op_case.large) continue;
    SCOPED_TRACE(op_case.name);
    const Tensors inputs = op_case.inputs(dtype);
    const Tensors copies = [&] {
      Tensors result;
      for (const at::Tensor& input : inputs) result.push_back(input.clone());
      return result;
    }();
    expect_equal(op_case.run(inputs, Backend::cpu), op_case.run(inputs, Backend::reference),
                 [&op_case, dtype = dtype](at::ScalarType type) {
                   return output_tolerance(op_case, Backend::cpu, dtype, type);
                 });
    for (std::size_t i = 0; i < inputs.size(); ++i)
      EXPECT_TRUE(inputs[i].equal(copies[i])) << "input " << i << " was changed";
    if (op_case.differentiable)
      expect_equal(gradients(op_case, inputs, Backend::cpu),
                   gradients(op_case, inputs, Backend::reference),
                   [&op_case, dtype = dtype](at::ScalarType type) {
                     return gradient_tolerance(op_case, Backend::cpu, dtype, type);
                   });
  }
}

std::string parity_name(const testing::TestParamInfo<CpuParity::ParamType>& info) {
  const auto& [name, dtype, isa] = info.param;
  return name + "_" + c10::toString(dtype) + "_" + std::string(to_string(isa));
}

INSTANTIATE_TEST_SUITE_P(Ops, CpuParity,
                         testing::Combine(testing::ValuesIn(op_names()),
                                          testing::Values(at::kFloat, at::kBFloat16),
                                          testing::ValuesIn(kCpuIsas)),
                         parity_name);

class EveryOp : public testing::TestWithParam<std::string> {};

/// The reference would take minutes for what the benchmark takes; smaller calls have the same
/// tiles.
constexpr double kMostOperations = 3e10;

TEST_P(EveryOp, ModelSizesMatchReference) {
  for (const OpCase& op_case : op_of(GetParam()).cases()) {
    if (!op_case.large || op_case.flops > kMostOperations) continue;
    SCOPED_TRACE(op_case.name);
    const Tensors inputs = op_case.inputs(at::kFloat);
    expect_equal(op_case.run(inputs, Backend::automatic), op_case.run(inputs, Backend::reference));
  }
}

TEST_P(EveryOp, ResultDoesNotDependOnTheNumberOfThreads) {
  const int threads = at::get_num_threads();
  for (const OpCase& op_case : op_of(GetParam()).cases()) {
    if (op_case.flops > kMostOperations) continue;
    SCOPED_TRACE(op_case.name);
    const Tensors inputs = op_case.inputs(at::kFloat);
    at::set_num_threads(1);
    const Tensors one = op_case.run(inputs, Backend::cpu);
    at::set_num_threads(3);
    const Tensors three = op_case.run(inputs, Backend::cpu);
    at::set_num_threads(threads);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(three[i]));
  }
}

TEST_P(EveryOp, DoubleTakesTheReference) {
  for (const OpCase& op_case : op_of(GetParam()).cases()) {
    if (op_case.large) continue;
    SCOPED_TRACE(op_case.name);
    const Tensors inputs = op_case.inputs(at::kDouble);
    const Tensors expected = op_case.run(inputs, Backend::reference);
    const Tensors actual = op_case.run(inputs, Backend::automatic);
    for (std::size_t i = 0; i < actual.size(); ++i) {
      EXPECT_EQ(actual[i].scalar_type(), at::kDouble);
      EXPECT_TRUE(actual[i].equal(expected[i]));
    }
  }
}

/// Central difference of the weighted sum in one element of one input.
double finite_difference(const OpCase& op_case, const Tensors& inputs, std::size_t which,
                         std::int64_t element) {
  constexpr double kStep = 1e-5;
  const auto loss_at = [&](double offset) {
    Tensors moved = inputs;
    moved[which] = inputs[which].clone();
    moved[which].view(-1)[element] += offset;
    return weighted_sum(op_case.run(moved, Backend::reference)).item<double>();
  };
  return (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
}

TEST_P(EveryOp, ReferenceGradientsMatchFiniteDifferences) {
  constexpr std::int64_t kElements = 8;  // tried per input
  int compared = 0;
  for (const OpCase& op_case : op_of(GetParam()).cases()) {
    if (op_case.large || !op_case.differentiable) continue;
    Tensors inputs = op_case.inputs(at::kDouble);
    if (inputs[0].numel() > 10000) continue;
    SCOPED_TRACE(op_case.name);
    for (at::Tensor& input : inputs) input = input.contiguous();
    const Tensors analytic = gradients(op_case, inputs, Backend::reference);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_EQ(analytic[i].sizes(), inputs[i].sizes());
      const std::int64_t count = inputs[i].numel();
      const double scale = count > 0 ? analytic[i].abs().max().item<double>() : 0;
      for (std::int64_t n = 0; n < std::min(count, kElements); ++n) {
        const std::int64_t element = count <= kElements ? n : (n * 7919 + 13) % count;
        const double expected = finite_difference(op_case, inputs, i, element);
        EXPECT_NEAR(analytic[i].reshape(-1)[element].item<double>(), expected, 1e-6 * (scale + 0.1))
            << "input " << i << ", element " << element;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 30);
}

TEST_P(EveryOp, NanAndInfinityInputsEndInNan) {
  for (const OpCase& op_case : op_of(GetParam()).cases()) {
    if (op_case.large) continue;
    for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
      Tensors inputs = op_case.inputs(at::kFloat);
      if (inputs[0].numel() == 0) continue;
      SCOPED_TRACE(op_case.name);
      inputs[0] = inputs[0].contiguous().clone();
      inputs[0].view(-1)[inputs[0].numel() / 2] = bad;
      const Tensors actual = op_case.run(inputs, Backend::cpu);
      const Tensors expected = op_case.run(inputs, Backend::reference);
      for (std::size_t i = 0; i < actual.size(); ++i) {
        EXPECT_TRUE(actual[i].isfinite().equal(expected[i].isfinite())) << "output " << i;
        EXPECT_TRUE(std::isinf(bad) || actual[i].isnan().equal(expected[i].isnan()));
      }
    }
  }
}

TEST_P(EveryOp, RefusesSecondDerivatives) {
  for (const OpCase& op_case : op_of(GetParam()).cases()) {
    if (op_case.large || !op_case.differentiable) continue;
    const Tensors leaves = as_leaves(op_case.inputs(at::kFloat));
    const at::Tensor loss = weighted_sum(op_case.run(leaves, Backend::cpu));
    EXPECT_THROW(torch::autograd::grad({loss}, leaves, {}, true, true), std::exception);
    return;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, testing::ValuesIn(op_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace ttt::ops
