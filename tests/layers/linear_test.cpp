// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/linear.h"

#include "kernels/registry.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::layers {
namespace {

using ops::case_tensor;

// Large enough for oneDNN's products, and odd.
constexpr std::int64_t kRows = 131, kIn = 93, kOut = 107;

struct Arguments {
  at::Tensor x, weight, bias;

  Arguments to(at::ScalarType dtype) const {
    return {x.to(dtype), weight.to(dtype), bias.defined() ? bias.to(dtype) : bias};
  }
  Arguments leaves() const {
    const auto leaf = [](const at::Tensor& t) {
      return t.defined() ? t.detach().clone(at::MemoryFormat::Preserve).requires_grad_() : t;
    };
    return {leaf(x), leaf(weight), leaf(bias)};
  }
  std::vector<at::Tensor> list() const {
    return bias.defined() ? std::vector<at::Tensor>{x, weight, bias}
                          : std::vector<at::Tensor>{x, weight};
  }
};

Arguments arguments(bool with_bias = true) {
  return {case_tensor("x", {kRows, kIn}), case_tensor("weight", {kOut, kIn}, 0.1),
          with_bias ? case_tensor("bias", {kOut}) : at::Tensor()};
}

at::Tensor expected(const Arguments& a, LinearActivation activation) {
  const at::Tensor y = at::linear(a.x, a.weight, a.bias);
  if (activation == LinearActivation::gelu) return at::gelu(y);
  return activation == LinearActivation::silu ? at::silu(y) : y;
}

at::Tensor actual(const Arguments& a, LinearActivation activation) {
  return linear(a.x, a.weight, a.bias, activation);
}

double error(const at::Tensor& a, const at::Tensor& b) {
  return ((a.to(at::kDouble) - b.to(at::kDouble)).abs().max() / b.abs().max()).item<double>();
}

constexpr LinearActivation kActivations[] = {LinearActivation::none, LinearActivation::gelu,
                                             LinearActivation::silu};

TEST(Linear, EqualsLibTorchInDouble) {
  for (const bool with_bias : {true, false})
    for (const LinearActivation activation : kActivations)
      for (const auto& [dtype, tolerance] :
           {std::pair(at::kFloat, 1e-6), std::pair(at::kBFloat16, 8e-3),
            std::pair(at::kDouble, 1e-15)}) {
        const Arguments rounded = arguments(with_bias).to(dtype);
        const at::Tensor y = actual(rounded, activation);
        EXPECT_EQ(y.scalar_type(), dtype);
        EXPECT_LT(error(y, expected(rounded.to(at::kDouble), activation)), tolerance)
            << dtype << " activation " << static_cast<int>(activation) << " bias " << with_bias;
      }
}

TEST(Linear, TakesAnyLeadingShapeAndStrides) {
  const Arguments a = arguments().to(at::kFloat);
  const at::Tensor wide = case_tensor("wide", {3, kRows, kIn + 5}).to(at::kFloat);
  const at::Tensor weight = case_tensor("transposed", {kIn, kOut}).to(at::kFloat).t();
  for (const at::Tensor& x :
       {wide.narrow(2, 2, kIn), wide.narrow(1, 0, kRows / 2).narrow(2, 1, kIn),
        a.x.t().contiguous().t(), wide.narrow(2, 0, kIn).transpose(0, 1)}) {
    const at::Tensor y = linear(x, weight, a.bias);
    const at::Tensor reference =
        at::linear(x.to(at::kDouble), weight.to(at::kDouble), a.bias.to(at::kDouble));
    ASSERT_EQ(y.sizes(), reference.sizes());
    EXPECT_LT(error(y, reference), 1e-6);
  }
}

TEST(Linear, SmallAndEmptyInputs) {
  for (const std::int64_t rows : {0, 1, 2}) {
    const at::Tensor x = case_tensor("x", {2, rows, kIn}).to(at::kFloat);
    const Arguments a = arguments().to(at::kFloat);
    const at::Tensor y = linear(x, a.weight, a.bias, LinearActivation::gelu);
    EXPECT_EQ(y.sizes(), at::IntArrayRef({2, rows, kOut}));
    EXPECT_TRUE(at::allclose(y, at::gelu(at::linear(x, a.weight, a.bias)), 1e-5, 1e-6));
  }
}

TEST(Linear, GradientsEqualThoseInDouble) {
  for (const bool with_bias : {true, false})
    for (const LinearActivation activation : kActivations)
      for (const auto& [dtype, tolerance] :
           {std::pair(at::kFloat, 2e-6), std::pair(at::kBFloat16, 1.6e-2)}) {
        const Arguments ours = arguments(with_bias).to(dtype).leaves();
        const Arguments theirs = ours.to(at::kDouble).leaves();
        const at::Tensor factors = case_tensor("factors", {kRows, kOut});
        const auto gradients = [&](const at::Tensor& y, const Arguments& a) {
          return torch::autograd::grad({(y.to(at::kDouble) * factors).sum()}, a.list());
        };
        const auto a = gradients(actual(ours, activation), ours);
        const auto b = gradients(expected(theirs, activation), theirs);
        for (std::size_t i = 0; i < a.size(); ++i)
          EXPECT_LT(error(a[i], b[i]), tolerance)
              << dtype << " input " << i << " activation " << static_cast<int>(activation);
      }
}

TEST(Linear, OnlyAskedForGradientsAreComputed) {
  const Arguments a = arguments().to(at::kFloat);
  const at::Tensor weight = a.weight.clone().requires_grad_();
  linear(a.x, weight, a.bias).sum().backward();
  EXPECT_LT(error(weight.grad(), a.x.to(at::kDouble).sum(0).expand({kOut, kIn})), 2e-6);
  EXPECT_FALSE(a.x.grad().defined());
}

TEST(Linear, SecondDerivatives) {
  const auto second = [](const Arguments& a, auto map) {
    const at::Tensor y = map(a, LinearActivation::none);
    const auto first = torch::autograd::grad({y.pow(3).sum()}, {a.x}, {}, true, true);
    return torch::autograd::grad({first[0].pow(2).sum()}, {a.weight})[0];
  };
  const Arguments ours = arguments().to(at::kFloat).leaves();
  const Arguments theirs = ours.to(at::kDouble).leaves();
  EXPECT_LT(error(second(ours, actual), second(theirs, expected)), 1e-5);
}

TEST(Linear, AutocastRoundsAsLibTorchDoes) {
  const Arguments a = arguments().to(at::kFloat);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const at::Tensor y = linear(a.x, a.weight, a.bias), reference = at::linear(a.x, a.weight, a.bias);
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(y, reference));
}

}  // namespace
}  // namespace ttt::layers
