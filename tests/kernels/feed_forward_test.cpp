// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Two linear maps as one operation, against the two operations.
#include "kernels/linear/feed_forward.h"

#include "core/error.h"
#include "kernels/registry.h"
#include "kernels/support/cpu_isa.h"
#include "tests/kernels/usage_error.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <string>

namespace ttt::ops {
namespace {

struct Shape {
  std::int64_t rows = 300, in = 37, hidden = 70, out = 37;  // more rows than are held at a time
  LinearActivation activation = LinearActivation::gelu;
  bool biases = true, residual = true;
};

struct Arguments {
  at::Tensor x, residual;
  FeedForwardMaps maps;

  /// Those that are there, as leaves.
  std::vector<at::Tensor> leaves() const {
    std::vector<at::Tensor> all{
        x, maps.first_weight, maps.second_weight, maps.first_bias, maps.second_bias, residual,
    };
    std::erase_if(all, [](const at::Tensor& t) { return !t.defined(); });
    return all;
  }
};

/// Activations in `dtype`, parameters in `parameters`.
Arguments make(const Shape& s, at::ScalarType dtype, at::ScalarType parameters) {
  const auto tensor = [](const char* name, at::IntArrayRef shape, double scale,
                         at::ScalarType type) {
    return case_tensor(name, shape, scale).to(type).detach().clone().requires_grad_();
  };
  Arguments a;
  a.x = tensor("x", {3, s.rows / 3, s.in}, 1, dtype);
  a.maps = {.first_weight = tensor("first", {s.hidden, s.in}, 0.3, parameters),
            .second_weight = tensor("second", {s.out, s.hidden}, 0.3, parameters),
            .activation = s.activation};
  if (s.biases) {
    a.maps.first_bias = tensor("first bias", {s.hidden}, 0.5, parameters);
    a.maps.second_bias = tensor("second bias", {s.out}, 0.5, parameters);
  }
  if (s.residual) a.residual = tensor("residual", {3, s.rows / 3, s.out}, 1, dtype);
  return a;
}

at::Tensor in_steps(const Arguments& a, Backend backend) {
  const at::Tensor hidden =
      ops::linear(a.x, a.maps.first_weight, a.maps.first_bias, {a.maps.activation}, backend);
  return ops::linear(hidden, a.maps.second_weight, a.maps.second_bias,
                     {LinearActivation::none, a.residual}, backend);
}

double error_of(const at::Tensor& actual, const at::Tensor& expected) {
  const double largest = expected.abs().max().item<double>();
  return (actual.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>() /
         std::max(largest, 1e-30);
}

std::vector<at::Tensor> gradients(const at::Tensor& y, const std::vector<at::Tensor>& leaves) {
  const at::Tensor dout = case_tensor("dout", y.sizes()).to(y.scalar_type());
  return torch::autograd::grad({y}, leaves, {dout});
}

/// One operation against the steps in double.
void expect_parity(const Shape& shape, at::ScalarType dtype, at::ScalarType parameters) {
  const Arguments a = make(shape, dtype, parameters);
  Arguments exact = make(shape, dtype, parameters);
  for (at::Tensor* t : {&exact.x, &exact.residual, &exact.maps.first_weight, &exact.maps.first_bias,
                        &exact.maps.second_weight, &exact.maps.second_bias})
    if (t->defined()) *t = t->detach().to(at::kDouble).requires_grad_();
  const at::Tensor y = feed_forward(a.x, a.maps, a.residual, Backend::cpu);
  const at::Tensor expected = in_steps(exact, Backend::reference);
  const double bound = dtype == at::kBFloat16 ? 2e-2 : 1e-5;
  EXPECT_TRUE(y.equal(in_steps(a, Backend::cpu)));
  EXPECT_LT(error_of(y, expected), bound);
  const std::vector<at::Tensor> actual = gradients(y, a.leaves());
  const std::vector<at::Tensor> wanted = gradients(expected, exact.leaves());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].scalar_type(), a.leaves()[i].scalar_type()) << i;
    EXPECT_TRUE(actual[i].is_contiguous()) << i;
    EXPECT_LT(error_of(actual[i], wanted[i]), bound) << i;
  }
}

class FeedForward : public testing::TestWithParam<CpuIsa> {
 protected:
  void SetUp() override {
    if (GetParam() > best_cpu_isa()) GTEST_SKIP() << "not on this processor";
    set_cpu_isa(GetParam());
  }
  void TearDown() override { set_cpu_isa(std::nullopt); }
};

TEST_P(FeedForward, IsTheTwoMaps) {
  for (const Shape& shape :
       {Shape{}, Shape{.rows = 3, .in = 1, .hidden = 1, .out = 1},
        Shape{.rows = 513, .in = 64, .hidden = 128, .out = 40, .biases = false},
        Shape{.in = 70, .hidden = 33, .out = 130, .residual = false},
        Shape{.rows = 4200, .in = 6, .hidden = 5, .out = 9, .biases = false, .residual = false}}) {
    expect_parity(shape, at::kFloat, at::kFloat);
    expect_parity(shape, at::kBFloat16, at::kBFloat16);
    expect_parity(shape, at::kBFloat16, at::kFloat);
  }
}

TEST_P(FeedForward, KnowsEveryActivation) {
  for (const LinearActivation activation :
       {LinearActivation::none, LinearActivation::relu, LinearActivation::gelu,
        LinearActivation::gelu_tanh, LinearActivation::silu})
    expect_parity({.activation = activation}, at::kFloat, at::kFloat);
}

INSTANTIATE_TEST_SUITE_P(Isas, FeedForward,
                         testing::Values(CpuIsa::baseline, CpuIsa::avx2, CpuIsa::avx512));

TEST(FeedForwardOp, ComputesOnlyTheGradientsThatAreAskedFor) {
  const Arguments a = make({}, at::kFloat, at::kFloat);
  const at::Tensor all = feed_forward(a.x, a.maps, a.residual, Backend::cpu);
  const std::vector<at::Tensor> expected = gradients(all, a.leaves());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Arguments frozen = a;
    for (at::Tensor* t : {&frozen.x, &frozen.maps.first_weight, &frozen.maps.second_weight,
                          &frozen.maps.first_bias, &frozen.maps.second_bias, &frozen.residual})
      if (!t->is_same(a.leaves()[i])) *t = t->detach();
    const at::Tensor y = feed_forward(frozen.x, frozen.maps, frozen.residual, Backend::cpu);
    EXPECT_TRUE(gradients(y, {a.leaves()[i]})[0].equal(expected[i])) << i;
  }
}

TEST(FeedForwardOp, TakesPartsOfWiderTensorsAndNoRows) {
  const Arguments a = make({.residual = false}, at::kFloat, at::kFloat);
  const at::Tensor wide = at::zeros({3, 100, 50});
  wide.narrow(2, 7, 37).copy_(a.x.detach());
  const at::Tensor part = wide.requires_grad_().narrow(2, 7, 37);
  const at::Tensor y = feed_forward(part, a.maps), expected = feed_forward(a.x, a.maps);
  EXPECT_TRUE(y.equal(expected));
  EXPECT_TRUE(gradients(y, {wide})[0].narrow(2, 7, 37).equal(gradients(expected, {a.x})[0]));

  const at::Tensor none = at::zeros({0, 37}).requires_grad_();
  const at::Tensor empty = feed_forward(none, a.maps);
  EXPECT_EQ(empty.sizes(), at::IntArrayRef({0, 37}));
  EXPECT_EQ(gradients(empty, {a.maps.second_weight})[0].abs().max().item<float>(), 0);
}

TEST(FeedForwardOp, FollowsAutocast) {
  const Arguments a = make({.residual = false}, at::kFloat, at::kFloat);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const at::Tensor y = feed_forward(a.x, a.maps);
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(y.equal(feed_forward(a.x.to(at::kBFloat16), a.maps)));
  EXPECT_EQ(gradients(y, {a.x})[0].scalar_type(), at::kFloat);
}

TEST(FeedForwardOp, RefusesWhatDoesNotFit) {
  const auto expect_error = [](const Arguments& a, std::string_view text) {
    test::expect_usage_error([&] { feed_forward(a.x, a.maps, a.residual); }, text);
  };
  const Arguments good = make({}, at::kFloat, at::kFloat);
  Arguments a = good;
  a.maps.second_weight = at::zeros({37, 71});
  expect_error(a, "second weight is [37, 71], but [..., 70] is needed");
  a = good;
  a.x = at::zeros({3, 36});
  expect_error(a, "x is [3, 36]");
  a = good;
  a.maps.second_bias = at::zeros({36});
  expect_error(a, "bias is [36]");
  a = good;
  a.residual = at::zeros({3, 100, 36});
  expect_error(a, "residual is [3, 100, 36]");
  a = good;
  a.maps.second_weight = at::zeros({37, 70}, at::kHalf);
  expect_error(a, "weight");
}

TEST(FeedForwardOp, RefusesSecondDerivatives) {
  const Arguments a = make({}, at::kFloat, at::kFloat);
  const at::Tensor y = feed_forward(a.x, a.maps, a.residual, Backend::cpu);
  EXPECT_THROW(torch::autograd::grad({y.sum()}, {a.x}, {}, true, true), Error);
}

}  // namespace
}  // namespace ttt::ops
