// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// What follows from the definitions of the design space, checked without its code for gradients.
#include "tests/support/compare.h"
#include "tests/support/fill.h"
#include "tests/vision/design_space/block_support.h"
#include "vision/design_space/general_ttt_block.h"
#include "vision/design_space/inner_loss.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::test {
namespace {

using vision::InnerConfig;
using vision::InnerLoss;
using vision::InnerModelKind;

at::Tensor tokens(const char* name, double factor = 1.0) {
  return fill(name, {2, 3, 15, 4}, factor).to(at::kDouble);
}

/// Largest outer gradient of the rows of qkv that make the values.
double value_gradient(const InnerConfig& config, double weight_factor = 1.0) {
  const BlockCase size;
  vision::GeneralTttBlock block(size.dim, size.heads, config);
  fill_block(block, size);
  {
    const torch::NoGradGuard no_grad;
    block.named_parameters()["qkv.weight"].narrow(0, 2 * size.dim, size.dim).mul_(weight_factor);
    block.named_parameters()["qkv.bias"].narrow(0, 2 * size.dim, size.dim).mul_(weight_factor);
  }
  const BlockRun run = run_block(block, size, {});
  return run.gradients.at("qkv.weight")
      .narrow(0, 2 * size.dim, size.dim)
      .abs()
      .max()
      .item<double>();
}

// Where ∂²L/∂v̂∂v is zero, the outer training can't teach the values anything.
TEST(DesignSpace, AbsoluteErrorGivesTheValuesNoGradient) {
  for (const auto model :
       {InnerModelKind::linear, InnerModelKind::silu_linear, InnerModelKind::mlp2,
        InnerModelKind::mlp3, InnerModelKind::swiglu, InnerModelKind::gated_linear,
        InnerModelKind::conv, InnerModelKind::depthwise})
    for (const std::int64_t steps : {1, 2}) {
      SCOPED_TRACE(name_of(model));
      EXPECT_EQ(value_gradient({.model = model, .loss = InnerLoss::mae, .epochs = steps}), 0);
      for (const auto loss : {InnerLoss::dot, InnerLoss::mse, InnerLoss::rmse})
        EXPECT_GT(value_gradient({.model = model, .loss = loss, .epochs = steps}), 1e-8);
    }
}

TEST(DesignSpace, SmoothL1DoesSoOutsideItsQuadraticZone) {
  const InnerConfig config{.model = InnerModelKind::linear, .loss = InnerLoss::smooth_l1};
  EXPECT_GT(value_gradient(config), 1e-8);
  EXPECT_EQ(value_gradient(config, 1e6), 0);  // values so large that every |v̂ − v| is above 1
}

TEST(DesignSpace, LossesAreAsDefined) {
  const at::Tensor p = tokens("p", 2), v = tokens("v", 2), r = p - v, size = r.abs();
  const std::vector<std::pair<InnerLoss, at::Tensor>> cases{
      {InnerLoss::dot, -(p * v).sum(-1)},
      {InnerLoss::mse, r.square().sum(-1) / 2},
      {InnerLoss::rmse, r.square().sum(-1).sqrt()},
      {InnerLoss::mae, size.sum(-1)},
      {InnerLoss::smooth_l1, at::where(size < 1, r.square() / 2, size - 0.5).sum(-1)}};
  for (const auto& [loss, expected] : cases)
    EXPECT_LE(relative_to_max(inner_loss(loss, p, v), expected / 3), 1e-9) << name_of(loss);
}

TEST(DesignSpace, LossSlopesAreFiniteAtZero) {
  const at::Tensor zero = at::zeros({1, 1, 2, 3}, at::kDouble);
  for (const auto loss :
       {InnerLoss::dot, InnerLoss::mse, InnerLoss::rmse, InnerLoss::mae, InnerLoss::smooth_l1})
    EXPECT_EQ(inner_loss_slope(loss, zero, zero).abs().max().item<double>(), 0) << name_of(loss);
}

// η/(3N) kᵀv, written out.
TEST(DesignSpace, OneStepOfTheLinearModelIsTheOuterProduct) {
  const auto model = vision::make_inner_model(InnerModelKind::linear, 3, 4, 1);
  const at::Tensor k = tokens("k"), v = tokens("v"), w = fill("w", {1, 3, 4, 4}).to(at::kDouble);
  const InnerConfig config{
      .model = InnerModelKind::linear, .learning_rate = 0.5, .clip = vision::InnerClip::none};
  const auto trained =
      train_inner_model(*model, {k, v, {}}, {w}, config, vision::InnerGradients::closed_form);
  const at::Tensor expected = w + 0.5 * at::einsum("bhni,bhnj->bhij", {k, v}) / (3 * 15);
  EXPECT_LE(relative_to_max(trained.weights[0], expected), 1e-14);
  EXPECT_EQ(trained.steps, 1);
}

TEST(DesignSpace, MiniBatchesCoverAllTokensInOrder) {
  for (const std::int64_t count : {1, 2, 5, 15, 64, 1000})
    for (const std::int64_t batches : {1, 2, 3, 4, 7, 15, 16, 100}) {
      std::int64_t next = 0, smallest = count, largest = 0;
      for (std::int64_t i = 0; i < batches; ++i) {
        const vision::TokenRange range = vision::mini_batch(count, batches, i);
        EXPECT_EQ(range.begin, next);
        next += range.size;
        smallest = std::min(smallest, range.size);
        largest = std::max(largest, range.size);
      }
      EXPECT_EQ(next, count);
      EXPECT_LE(largest - smallest, 1);
    }
}

// Later mini-batches start from the weights of earlier ones, and only they see the later tokens.
TEST(DesignSpace, MiniBatchesAreSequentialSteps) {
  const auto model = vision::make_inner_model(InnerModelKind::mlp2, 3, 4, 2);
  const at::Tensor k = tokens("k"), v = tokens("v");
  const vision::InnerModelWeights w{fill("a", {1, 3, 4, 8}).to(at::kDouble),
                                    fill("b", {1, 3, 8, 4}).to(at::kDouble)};
  InnerConfig config{.model = InnerModelKind::mlp2, .width = 2, .loss = InnerLoss::mse};
  const auto train = [&](std::int64_t begin, std::int64_t count, vision::InnerModelWeights start,
                         std::int64_t batches) {
    config.batches = batches;
    return train_inner_model(*model, {k.narrow(2, begin, count), v.narrow(2, begin, count), {}},
                             std::move(start), config, vision::InnerGradients::closed_form);
  };
  const auto together = train(0, 15, w, 4);  // 3, 4, 4, 4 tokens
  vision::InnerModelWeights steps = w;
  for (const auto& [begin, count] : {std::pair{0, 3}, {3, 4}, {7, 4}, {11, 4}})
    steps = train(begin, count, steps, 1).weights;
  EXPECT_EQ(together.steps, 4);
  for (std::size_t i = 0; i < w.size(); ++i)
    EXPECT_LE(relative_to_max(together.weights[i], steps[i]), 1e-14);
  EXPECT_EQ(train(0, 3, w, 7).steps, 3);  // no step without tokens
}

TEST(DesignSpace, MoreEpochsFitBetter) {
  for (const auto model : {InnerModelKind::linear, InnerModelKind::mlp2, InnerModelKind::conv,
                           InnerModelKind::depthwise, InnerModelKind::swiglu}) {
    const BlockCase size;
    double previous = INFINITY;
    for (const std::int64_t epochs : {1, 3, 9}) {
      vision::GeneralTttBlock block(
          size.dim, size.heads,
          {.model = model, .loss = InnerLoss::mse, .epochs = epochs, .learning_rate = 0.3});
      fill_block(block, size);
      std::vector<vision::InnerStepReport> reports;
      run_block(block, size, {.reports = &reports});
      ASSERT_EQ(reports[0].models.size(), 1U);
      EXPECT_EQ(reports[0].steps, epochs);
      EXPECT_EQ(reports[0].models[0].model, name_of(model));
      EXPECT_LT(reports[0].models[0].loss_after, previous) << name_of(model);
      previous = reports[0].models[0].loss_after;
    }
  }
}

// The convolutions answer as LibTorch's, head by head.
TEST(DesignSpace, ConvolutionsAreThoseOfLibTorch) {
  constexpr std::int64_t kHeads = 2, kWidth = 3;
  const vision::Grid grid{4, 5};
  const at::Tensor x = fill("x", {2, kHeads, grid.tokens(), kWidth}).to(at::kDouble);
  const at::Tensor map = x.transpose(2, 3).reshape({2, kHeads * kWidth, grid.height, grid.width});
  for (const auto kind : {InnerModelKind::conv, InnerModelKind::depthwise}) {
    const auto model = vision::make_inner_model(kind, kHeads, kWidth, 1);
    const at::Tensor w = fill("w", model->parameters().at(0).shape).to(at::kDouble);
    EXPECT_EQ(model->parameters().at(0).name, "w3");
    const std::int64_t groups = kind == InnerModelKind::conv ? kHeads : kHeads * kWidth;
    const at::Tensor expected =
        at::conv2d(map, w, {}, at::IntArrayRef{1}, at::IntArrayRef{1}, at::IntArrayRef{1}, groups)
            .view({2, kHeads, kWidth, grid.tokens()})
            .transpose(2, 3);
    const at::Tensor actual = model->predict(model->input(x, grid), model->weights({w})).value;
    EXPECT_LE(relative_to_max(actual, expected), 1e-14) << name_of(kind);
  }
}

TEST(DesignSpace, SamplesDoNotSeeEachOther) {
  for (std::size_t i = 0; i < vision::inner_model_names().size(); ++i) {
    const InnerConfig config{.model = static_cast<InnerModelKind>(i),
                             .loss = InnerLoss::mse,
                             .batches = 2,
                             .rate_rule = vision::InnerRateRule::dynamic};
    vision::GeneralTttBlock block(12, 2, config);
    fill_block(block, {});
    const torch::NoGradGuard no_grad;
    const at::Tensor x = fill("x", {3, 15, 12}).to(at::kDouble);
    const at::Tensor together = block.forward({x}, {3, 5}, nullptr, {}, "block");
    for (std::int64_t b = 0; b < 3; ++b) {
      const at::Tensor alone = block.forward({x.narrow(0, b, 1)}, {3, 5}, nullptr, {}, "block");
      EXPECT_LE(relative_to_max(alone, together.narrow(0, b, 1)), 1e-12) << describe(config);
    }
  }
}

// Inner training stays in float where the model's type is narrower, with autocast and without.
TEST(DesignSpace, NarrowTypesStayClose) {
  for (std::size_t i = 0; i < vision::inner_model_names().size(); ++i) {
    const InnerConfig config{.model = static_cast<InnerModelKind>(i), .loss = InnerLoss::mse};
    vision::GeneralTttBlock block(12, 2, config);
    fill_block(block, {.dtype = at::kFloat});
    const c10::InferenceMode inference;
    const at::Tensor x = fill("x", {2, 15, 12});
    const at::Tensor exact = block.forward({x}, {3, 5}, nullptr, {}, "block");
    block.to(at::kBFloat16);
    const at::Tensor narrow = block.forward({x.to(at::kBFloat16)}, {3, 5}, nullptr, {}, "block");
    EXPECT_EQ(narrow.scalar_type(), at::kBFloat16);
    EXPECT_LE(relative_to_max(narrow.to(at::kFloat), exact), 0.04) << describe(config);
  }
}

}  // namespace
}  // namespace ttt::test
