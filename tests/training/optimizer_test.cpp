// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/optimizer.h"

#include "training/gradients.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

namespace ttt::training {
namespace {

at::Tensor parameter(at::IntArrayRef shape, std::uint64_t seed) {
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return at::randn(shape, generator, at::TensorOptions(at::kDouble)).requires_grad_();
}

void set_gradient(const at::Tensor& tensor, const at::Tensor& gradient) {
  at::Tensor(tensor).mutable_grad() = gradient.clone();
}

/// AdamW by its definition (Loshchilov and Hutter, algorithm 2), one element.
struct ScalarAdamW {
  double value, decay;
  double first = 0, second = 0;
  int steps = 0;

  void step(double gradient, double rate) {
    ++steps;
    first = 0.9 * first + 0.1 * gradient;
    second = 0.999 * second + 0.001 * gradient * gradient;
    const double m = first / (1 - std::pow(0.9, steps));
    const double v = second / (1 - std::pow(0.999, steps));
    value -= rate * decay * value;
    value -= rate * m / (std::sqrt(v) + 1e-8);
  }
};

TEST(AdamW, FollowsItsDefinitionAndTheParameterGroups) {
  const NamedTensors parameters{{"blocks.0.attn.w1", parameter({1, 2, 3, 3}, 1)},
                                {"blocks.0.norm1.weight", parameter({6}, 2)},
                                {"blocks.0.attn.qkv.bias", parameter({2, 4}, 3)}};
  std::vector<std::vector<ScalarAdamW>> expected;
  for (const NamedTensor& p : parameters) {
    const double decay = p.name == "blocks.0.attn.w1" ? 0.05 : 0.0;
    auto& list = expected.emplace_back();
    for (std::int64_t i = 0; i < p.tensor.numel(); ++i)
      list.push_back({p.tensor.flatten()[i].item<double>(), decay});
  }
  const auto optimizer = make_optimizer(parameters, {});
  for (int step = 0; step < 4; ++step) {
    const double rate = 0.01 * (step + 1);
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const at::Tensor gradient =
          parameter(parameters[p].tensor.sizes(), 100 + 10 * static_cast<std::uint64_t>(step) + p)
              .detach();
      set_gradient(parameters[p].tensor, gradient);
      for (std::int64_t i = 0; i < gradient.numel(); ++i)
        expected[p][static_cast<std::size_t>(i)].step(gradient.flatten()[i].item<double>(), rate);
    }
    optimizer->step(rate);
  }
  for (std::size_t p = 0; p < parameters.size(); ++p)
    for (std::int64_t i = 0; i < parameters[p].tensor.numel(); ++i)
      EXPECT_NEAR(parameters[p].tensor.flatten()[i].item<double>(),
                  expected[p][static_cast<std::size_t>(i)].value, 1e-12)
          << parameters[p].name << " " << i;
}

TEST(AdamW, LeavesParametersWithoutGradientAlone) {
  const NamedTensors parameters{{"a", parameter({2, 2}, 1)}, {"b", parameter({2, 2}, 2)}};
  const at::Tensor before = parameters[1].tensor.detach().clone();
  const auto optimizer = make_optimizer(parameters, {});
  set_gradient(parameters[0].tensor, at::ones({2, 2}, at::kDouble));
  optimizer->step(0.1);
  EXPECT_TRUE(at::equal(parameters[1].tensor, before));
}

TEST(Optimizer, StateRestoresIt) {
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::muon}) {
    const at::Tensor start = parameter({4, 3}, 5).detach();
    const NamedTensors first{{"w", start.clone().requires_grad_()}};
    const NamedTensors second{{"w", start.clone().requires_grad_()}};
    const OptimizerOptions options{.kind = kind};
    const auto one = make_optimizer(first, options);
    set_gradient(first[0].tensor, parameter({4, 3}, 6).detach());
    one->step(0.1);

    const auto other = make_optimizer(second, options);
    const NamedTensors from = one->state(), to = other->state();
    ASSERT_EQ(from.size(), to.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      EXPECT_EQ(from[i].name, to[i].name);
      at::Tensor(to[i].tensor).copy_(from[i].tensor);
    }
    second[0].tensor.detach().copy_(first[0].tensor.detach());
    for (const NamedTensors* side : {&first, &second})
      set_gradient((*side)[0].tensor, parameter({4, 3}, 7).detach());
    one->step(0.1);
    other->step(0.1);
    EXPECT_TRUE(at::equal(first[0].tensor, second[0].tensor));
  }
}

TEST(WeightDecay, OfficialRule) {
  const at::Tensor matrix = at::zeros({2, 2}), vector = at::zeros({2}),
                   kernel = at::zeros({2, 1, 3, 3});
  EXPECT_TRUE(takes_weight_decay("head.weight", matrix));
  EXPECT_TRUE(takes_weight_decay("blocks.0.cpe.weight", kernel));
  EXPECT_TRUE(takes_weight_decay("blocks.0.attn.w3", kernel));
  EXPECT_FALSE(takes_weight_decay("norm.weight", vector));
  EXPECT_FALSE(takes_weight_decay("head.bias", vector));
  EXPECT_FALSE(takes_weight_decay("odd.bias", matrix));
}

TEST(Muon, OrthogonalizesWideAndTallMatrices) {
  for (const auto& shape : {std::vector<std::int64_t>{5, 9}, {9, 5}, {6, 6}}) {
    const at::Tensor result = orthogonalize(parameter(shape, 3).detach());
    const at::Tensor values = std::get<1>(at::_linalg_svd(result, false, true));
    EXPECT_GT(values.min().item<double>(), 0.6);
    EXPECT_LT(values.max().item<double>(), 1.3);
  }
}

TEST(Muon, StepIsTheOrthogonalizedMomentum) {
  const NamedTensors parameters{{"fc1.weight", parameter({3, 8}, 1)}};
  const at::Tensor start = parameters[0].tensor.detach().clone();
  const auto optimizer = make_optimizer(parameters, {.kind = OptimizerKind::muon});
  const at::Tensor g1 = parameter({3, 8}, 2).detach(), g2 = parameter({3, 8}, 4).detach();
  at::Tensor expected = start;
  const double factor = 0.2 * std::sqrt(8.0);
  expected = expected * (1 - 0.1 * 0.05) - 0.1 * factor * orthogonalize(g1 + 0.95 * g1);
  const at::Tensor momentum = 0.95 * g1 + g2;
  expected = expected * (1 - 0.1 * 0.05) - 0.1 * factor * orthogonalize(g2 + 0.95 * momentum);
  for (const at::Tensor& gradient : {g1, g2}) {
    set_gradient(parameters[0].tensor, gradient);
    optimizer->step(0.1);
  }
  EXPECT_TRUE(at::allclose(parameters[0].tensor, expected, 1e-12, 1e-12));
}

TEST(Muon, TakesInnerMatricesOnly) {
  EXPECT_TRUE(takes_muon("blocks.0.mlp.fc1.weight", at::zeros({8, 2})));
  EXPECT_FALSE(takes_muon("head.weight", at::zeros({8, 2})));
  EXPECT_FALSE(takes_muon("blocks.0.attn.w1", at::zeros({1, 2, 4, 4})));
  EXPECT_FALSE(takes_muon("blocks.0.mlp.fc1.bias", at::zeros({8})));
}

TEST(Gradients, NormAndClip) {
  const NamedTensors parameters{{"a.weight", parameter({2}, 1)}, {"a.bias", parameter({1}, 2)}};
  set_gradient(parameters[0].tensor, at::tensor({3.0, 4.0}, at::kDouble));
  set_gradient(parameters[1].tensor, at::tensor({12.0}, at::kDouble));
  const double norm = gradient_norm(parameters);
  EXPECT_DOUBLE_EQ(norm, 13.0);
  const auto by_module = gradient_norms_by_module(parameters);
  ASSERT_EQ(by_module.size(), 1U);
  EXPECT_EQ(by_module[0].first, "a");
  EXPECT_DOUBLE_EQ(by_module[0].second, 13.0);
  clip_gradients(parameters, norm, 20.0);
  EXPECT_DOUBLE_EQ(gradient_norm(parameters), 13.0);
  clip_gradients(parameters, norm, 1.3);
  EXPECT_NEAR(gradient_norm(parameters), 1.3 * 13.0 / (13.0 + 1e-6), 1e-12);
}

TEST(Gradients, NormIsNotFiniteIfAnyGradientIs) {
  const NamedTensors parameters{{"a", parameter({2}, 1)}, {"b", parameter({1}, 2)}};
  set_gradient(parameters[0].tensor, at::tensor({3.0, 4.0}, at::kDouble));
  set_gradient(parameters[1].tensor,
               at::tensor({std::numeric_limits<double>::quiet_NaN()}, at::kDouble));
  EXPECT_FALSE(std::isfinite(gradient_norm(parameters)));
  clear_gradients(parameters);
  EXPECT_EQ(gradient_norm(parameters), 0.0);
}

}  // namespace
}  // namespace ttt::training
