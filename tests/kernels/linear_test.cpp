// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The linear op beyond the registry's cases: packed weights, given outputs, autocast, errors.
#include "kernels/linear/linear.h"

#include "core/error.h"
#include "kernels/linear/backends.h"
#include "kernels/registry.h"
#include "kernels/support/cpu_isa.h"
#include "tests/kernels/parity.h"
#include "tests/kernels/usage_error.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <limits>
#include <string>
#include <string_view>

namespace ttt::ops {
namespace {

using test::expect_usage_error;

constexpr LinearActivation kSilu = LinearActivation::silu;

struct Tensors4 {
  at::Tensor x, weight, bias, residual;
};

Tensors4 tensors(at::ScalarType dtype = at::kFloat) {
  return {case_tensor("x", {3, 50, 37}).to(dtype), case_tensor("weight", {70, 37}, 0.2).to(dtype),
          case_tensor("bias", {70}).to(dtype), case_tensor("residual", {3, 50, 70}).to(dtype)};
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

TEST(PackedLinear, GivesTheVeryResultOfTheWeights) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const Tensors4 t = tensors(dtype);
    const PackedLinear packed(t.weight, t.bias, dtype);
    EXPECT_EQ(packed.in(), 37);
    EXPECT_EQ(packed.out(), 70);
    const LinearFusion fusion{kSilu, t.residual};
    EXPECT_TRUE(ops::linear(t.x, packed, fusion).equal(ops::linear(t.x, t.weight, t.bias, fusion)));
  }
}

TEST(PackedLinear, WorksOnUnderAnotherInstructionSet) {
  const Tensors4 t = tensors(at::kBFloat16);
  const PackedLinear packed(t.weight, t.bias, at::kBFloat16);
  const at::Tensor expected = ops::linear(t.x, t.weight, t.bias, {}, Backend::reference);
  const ScopedCpuIsa scoped(CpuIsa::baseline);  // multiplies no bfloat16
  EXPECT_LT(largest_difference(ops::linear(t.x, packed), expected),
            expected.abs().max().item<double>() / 128);
}

TEST(PackedLinear, RunsOnTheReference) {
  const Tensors4 t = tensors();
  const PackedLinear packed(t.weight, t.bias, at::kFloat);
  EXPECT_TRUE(ops::linear(t.x, packed, {}, Backend::reference)
                  .equal(ops::linear(t.x, t.weight, t.bias, {}, Backend::reference)));
}

TEST(PackedLinear, RefusesOtherDtypesAndGradients) {
  const Tensors4 t = tensors();
  const PackedLinear packed(t.weight, t.bias, at::kFloat);
  expect_usage_error([&] { ops::linear(t.x.to(at::kBFloat16), packed); }, "packed for Float");
  expect_usage_error([&] { ops::linear(t.x.clone().requires_grad_(), packed); }, "no gradients");
  expect_usage_error([&] { ops::linear(t.x, PackedLinear()); }, "empty");
  expect_usage_error([&] { ops::linear(t.x.narrow(2, 0, 36), packed); }, "x is [3, 50, 36]");
}

TEST(LinearOut, AddsToTheResidualInPlace) {
  const Tensors4 t = tensors();
  const at::Tensor expected = ops::linear(t.x, t.weight, {}, {LinearActivation::none, t.residual});
  const at::Tensor y = t.residual.clone();
  linear_out(t.x, t.weight, {LinearActivation::none, y}, y);
  EXPECT_TRUE(y.equal(expected));
}

TEST(LinearOut, WritesIntoPartsOfWiderRows) {
  const Tensors4 t = tensors();
  const PackedLinear packed(t.weight, t.bias, at::kFloat);
  const at::Tensor wide = at::full({3, 50, 90}, 7.0F);
  linear_out(t.x, packed, {}, wide.narrow(2, 10, 70));
  EXPECT_TRUE(wide.narrow(2, 10, 70).equal(ops::linear(t.x, t.weight, t.bias)));
  EXPECT_TRUE((wide.narrow(2, 0, 10) == 7.0F).all().item<bool>());
  EXPECT_TRUE((wide.narrow(2, 80, 10) == 7.0F).all().item<bool>());
}

TEST(LinearOut, KeepsAWideResidualExact) {
  const Tensors4 t = tensors(at::kBFloat16);
  const at::Tensor wide = case_tensor("wide", {3, 50, 70}).to(at::kFloat);
  const at::Tensor y = wide.clone();
  linear_out(t.x, t.weight, {LinearActivation::none, y}, y);
  const at::Tensor exact = at::linear(t.x.to(at::kDouble), t.weight.to(at::kDouble)) + wide;
  EXPECT_LT(largest_difference(y, exact), 1e-5 * exact.abs().max().item<double>());
}

TEST(LinearOut, RefusesUnevenRowsWrongTypesAndGradients) {
  const Tensors4 t = tensors();
  const at::Tensor uneven = at::empty({3, 60, 70}).narrow(1, 0, 50);
  expect_usage_error([&] { linear_out(t.x, t.weight, {}, uneven); }, "not evenly spaced");
  expect_usage_error(
      [&] {
        linear_out(t.x, t.weight, {}, at::empty({3, 50, 70}, at::kDouble));
      },
      "dtype");
  expect_usage_error(
      [&] {
        linear_out(t.x, t.weight, {}, at::empty({3, 50, 71}));
      },
      "out is [3, 50, 71]");
  const at::Tensor y = at::empty({3, 50, 70});
  expect_usage_error([&] { linear_out(t.x, t.weight.clone().requires_grad_(), {}, y); },
                     "no gradients");
}

TEST(LinearOut, RefusesToOverwriteWhatItReads) {
  const at::Tensor square = case_tensor("square", {40, 40}, 0.2).to(at::kFloat);
  const auto write = [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& residual,
                         const at::Tensor& out) {
    linear_out(x, weight, {LinearActivation::none, residual}, out);
    linear_out(x, PackedLinear(weight, {}, at::kFloat), {LinearActivation::none, residual}, out);
  };
  const at::Tensor stack = case_tensor("stack", {120, 40}).to(at::kFloat);
  const at::Tensor x = stack.narrow(0, 0, 60), out = at::empty({60, 40});
  const auto refused = [&](const at::Tensor& from, const at::Tensor& residual,
                           const at::Tensor& to) {
    expect_usage_error([&] { write(from, square, residual, to); }, "shares memory");
  };
  refused(x, {}, x);
  refused(x, {}, stack.narrow(0, 30, 60));
  refused(out, stack.narrow(0, 30, 60), x);  // not the residual itself
  refused(out, x.view({40, 60}).t(), x);
  expect_usage_error([&] { linear_out(x.narrow(0, 0, 40), square, {}, square); }, "shares memory");
  write(x, square, {}, stack.narrow(0, 60, 60));  // beside each other
  write(out.zero_(), square, x, x);
}

// It read beyond what a caller had kept.
TEST(LinearBackward, RefusesOtherSumsThanThoseOfTheForwardPass) {
  const Tensors4 t = tensors();
  const at::Tensor dout = case_tensor("dout", {3, 50, 70}).to(at::kFloat);
  const at::Tensor before = linear_forward(t.x, t.weight, t.bias, {kSilu}, Backend::cpu).second;
  const auto backward = [&](const at::Tensor& given) {
    return linear_backward({t.x, t.weight, given, kSilu}, dout, Backend::cpu);
  };
  for (const at::Tensor& wrong :
       {at::Tensor(), before.narrow(0, 0, 100), before.narrow(1, 0, 69), before.view({3, 50, 70})})
    expect_usage_error([&] { backward(wrong); }, "before");
  expect_usage_error([&] { backward(before.to(at::kBFloat16)); }, "before");
  // Any strides are fine.
  const at::Tensor turned = before.t().contiguous().t();
  EXPECT_TRUE(backward(turned).dx.equal(backward(before).dx));
}

TEST(LinearNorm, IsThatOfLayerNorm) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const Tensors4 t = tensors(dtype);
    const LinearNorm norm{case_tensor("norm", {37}).to(dtype), case_tensor("shift", {37}).to(dtype),
                          1e-6};
    const at::Tensor x = t.x * 3 + 40;  // far from zero: a variance from squares would lose digits
    const at::Tensor expected =
        at::linear(at::layer_norm(x, {37}, norm.weight, norm.bias, norm.epsilon), t.weight, t.bias);
    const double bound = 2e-5 * expected.abs().max().item<double>();
    LinearFusion fusion;
    fusion.norm = norm;
    EXPECT_LT(largest_difference(ops::linear(x, t.weight, t.bias, fusion), expected), bound);
    const PackedLinear packed(t.weight, t.bias, dtype);
    EXPECT_LT(largest_difference(ops::linear(x, packed, fusion), expected), bound);
    const at::Tensor out = at::zeros({3, 50, 70}, dtype);
    linear_out(x, packed, fusion, out);
    EXPECT_LT(largest_difference(out, expected), bound);
  }
}

TEST(LinearNorm, TakesTheRowsThatItsResultReplaces) {
  const Tensors4 t = tensors();
  const at::Tensor weight = case_tensor("square", {37, 37}, 0.2).to(at::kFloat);
  LinearFusion fusion{kSilu, t.x};
  fusion.norm = {case_tensor("norm", {37}).to(at::kFloat)};
  const at::Tensor expected = ops::linear(t.x, weight, {}, fusion);
  const at::Tensor normed = at::layer_norm(t.x, {37}, fusion.norm.weight);
  EXPECT_LT(largest_difference(expected, at::silu(at::linear(normed, weight)) + t.x), 1e-4);
}

TEST(LinearNorm, FollowsAutocast) {
  const Tensors4 t = tensors();
  LinearFusion fusion;
  fusion.norm = {case_tensor("norm", {37}).to(at::kFloat)};
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const at::Tensor y = ops::linear(t.x, t.weight, t.bias, fusion);
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  EXPECT_LT(largest_difference(y, ops::linear(t.x, t.weight, t.bias, fusion)), 0.2);
}

TEST(LinearNorm, RefusesWhatDoesNotFit) {
  const Tensors4 t = tensors();
  const auto call = [&](const LinearNorm& norm) {
    LinearFusion fusion;
    fusion.norm = norm;
    ops::linear(t.x, t.weight, t.bias, fusion);
  };
  expect_usage_error([&] { call({at::ones({36})}); }, "norm weight is [36]");
  expect_usage_error([&] { call({at::ones({37}), at::ones({1})}); }, "norm bias is [1]");
  expect_usage_error([&] { call({at::ones({37}), {}, 0.0}); }, "epsilon");
  expect_usage_error([&] { call({at::ones({37}, at::kDouble)}); }, "norm weight is Double");
  const PackedLinear packed(t.weight, t.bias, at::kFloat);
  LinearFusion fusion;
  fusion.norm = {at::ones({37}).requires_grad_()};
  expect_usage_error([&] { ops::linear(t.x, packed, fusion); }, "no gradients");
}

TEST(Linear, TakesVectorsAndManyDimensions) {
  const Tensors4 t = tensors();
  EXPECT_EQ(ops::linear(t.x[0][0], t.weight).sizes(), at::IntArrayRef({70}));
  EXPECT_EQ(ops::linear(t.x.view({3, 5, 2, 5, 37}), t.weight).sizes(),
            at::IntArrayRef({3, 5, 2, 5, 70}));
  const at::Tensor turned = t.x.transpose(0, 1);
  EXPECT_LT(largest_difference(ops::linear(turned, t.weight), at::linear(turned, t.weight)), 1e-4);
}

TEST(Linear, RefusesWhatDoesNotFit) {
  const Tensors4 t = tensors();
  expect_usage_error([&] { ops::linear(t.x, t.weight.t()); }, "x is [3, 50, 37]");
  expect_usage_error([&] { ops::linear(t.x, t.weight, t.bias.narrow(0, 0, 69)); }, "bias is [69]");
  expect_usage_error(
      [&] {
        ops::linear(t.x, t.weight, t.bias, {kSilu, t.bias});
      },
      "residual is [70]");
  expect_usage_error([&] { ops::linear(t.x, t.weight.to(at::kDouble)); }, "weight is Double");
  expect_usage_error([&] { ops::linear(at::Tensor(), t.weight); }, "undefined");
  expect_usage_error([&] { ops::linear(at::ones({}), t.weight); }, "x is []");
}

TEST(Linear, FollowsAutocast) {
  const Tensors4 t = tensors();
  const at::Tensor weight = t.weight.clone().requires_grad_();
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const at::Tensor y = ops::linear(t.x, weight, t.bias);
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  const auto gradient = torch::autograd::grad({y.to(at::kFloat).sum()}, {weight})[0];
  EXPECT_EQ(gradient.scalar_type(), at::kFloat);
  const at::Tensor expected = t.x.sum(at::IntArrayRef{0, 1}).expand({70, 37});
  EXPECT_LT(largest_difference(gradient, expected), expected.abs().max().item<double>() / 64);
}

TEST(Linear, ComputesOnlyTheGradientsThatAreAskedFor) {
  const Tensors4 t = tensors();
  const at::Tensor x = t.x.clone().requires_grad_(), bias = t.bias.clone().requires_grad_();
  const auto only_x = torch::autograd::grad({ops::linear(x, t.weight).sum()}, {x});
  EXPECT_LT(largest_difference(only_x[0], t.weight.sum(0).expand_as(x)), 1e-4);
  const auto only_bias = torch::autograd::grad({ops::linear(t.x, t.weight, bias).sum()}, {bias});
  EXPECT_LT(largest_difference(only_bias[0], at::full({70}, 150.0)), 1e-4);
}

TEST(Linear, InfinityInARowStaysThere) {
  Tensors4 t = tensors();
  t.x = t.x.clone();
  t.x[1][7][3] = std::numeric_limits<float>::infinity();
  const at::Tensor finite = ops::linear(t.x, t.weight, t.bias).isfinite().all(2);
  EXPECT_EQ(finite.sum().item<std::int64_t>(), 149);
  EXPECT_FALSE(finite[1][7].item<bool>());
}

}  // namespace
}  // namespace ttt::ops
