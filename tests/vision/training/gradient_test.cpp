// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/compare.h"
#include "tests/support/fill.h"
#include "tests/vision/training/composition.h"
#include "training/data_order.h"
#include "training/named_tensors.h"
#include "training/random.h"
#include "vision/classification_model.h"
#include "vision/drop_path.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>

namespace ttt::test {
namespace {

using training::NamedTensors;
using Forward = std::function<at::Tensor(const at::Tensor&)>;

constexpr vision::Vit3Config kVit3{.dim = 8, .depth = 2, .heads = 2, .patch = 4, .classes = 3};
constexpr vision::HVit3Config kHVit3{
    .dims = {8, 8, 12, 16}, .depths = {1, 1, 2, 1}, .heads = {1, 2, 3, 2}, .classes = 3};

std::shared_ptr<vision::ClassificationModel> filled(
    std::shared_ptr<vision::ClassificationModel> model) {
  const torch::NoGradGuard no_grad;
  model->initialize(1);  // also the buffers, which the fill leaves alone
  for (const NamedTensor& p : training::trainable_parameters(*model))
    at::Tensor(p.tensor).copy_(fill_weight(p.name, p.tensor.sizes()));
  return model;
}

std::shared_ptr<vision::ClassificationModel> double_vit3() {
  auto model = filled(vision::make_vit3(kVit3));
  model->to(at::kDouble);
  return model;
}

std::shared_ptr<vision::ClassificationModel> double_hvit3() {
  auto model = filled(vision::make_hvit3(kHVit3));
  model->to(at::kDouble);
  return model;
}

at::Tensor images_for(std::int64_t batch, std::int64_t height, std::int64_t width) {
  return fill("img", {batch, 3, height, width}).to(at::kDouble);
}

/// A scalar that every logit has a part in.
at::Tensor score(const at::Tensor& logits) {
  return (logits * fill("loss", logits.sizes()).to(logits.scalar_type())).sum();
}

NamedTensors gradients(const torch::nn::Module& model, const at::Tensor& value) {
  const NamedTensors parameters = training::trainable_parameters(model);
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& p : parameters) tensors.push_back(p.tensor);
  const auto grads = torch::autograd::grad({value}, tensors);
  NamedTensors result;
  for (std::size_t i = 0; i < grads.size(); ++i) result.push_back({parameters[i].name, grads[i]});
  return result;
}

void expect_close(const NamedTensors& actual, const NamedTensors& expected, double tolerance) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    // A bias in front of a batch norm has gradient zero, up to rounding.
    if (expected[i].tensor.abs().max().item<double>() < 1e-10) {
      EXPECT_LT(actual[i].tensor.abs().max().item<double>(), 1e-6) << actual[i].name;
      continue;
    }
    EXPECT_LT(relative_to_max(actual[i].tensor.to(at::kDouble), expected[i].tensor), tolerance)
        << actual[i].name;
  }
}

/// Central differences at a few elements of every parameter. Where the two one-sided differences
/// disagree a ReLU switches within the step and there is no derivative to compare with; that must
/// stay the exception.
void expect_central_differences(const torch::nn::Module& model,
                                const std::function<at::Tensor()>& value) {
  constexpr double kStep = 1e-5;
  constexpr double kKink = 2e-4;
  constexpr std::int64_t kElements = 3;
  const NamedTensors expected = gradients(model, value());
  const torch::NoGradGuard no_grad;
  const double here = value().item<double>();
  std::size_t index = 0;
  int compared = 0, kinks = 0;
  for (const NamedTensor& p : training::trainable_parameters(model)) {
    const at::Tensor gradient = expected[index++].tensor.contiguous().view(-1);
    const at::Tensor flat = p.tensor.view(-1);
    for (std::int64_t k = 0; k < std::min(kElements, flat.numel()); ++k) {
      const std::int64_t i = k * (flat.numel() - 1) / std::max<std::int64_t>(1, kElements - 1);
      const double before = flat[i].item<double>();
      flat[i] = before + kStep;
      const double above = value().item<double>();
      flat[i] = before - kStep;
      const double below = value().item<double>();
      flat[i] = before;
      const double numeric = (above - below) / (2 * kStep);
      const double bend = std::abs((above - here) - (here - below)) / kStep;
      if (bend > kKink * std::max(1.0, std::abs(numeric))) {
        ++kinks;
        continue;
      }
      ++compared;
      EXPECT_NEAR(gradient[i].item<double>(), numeric, 1e-6 * std::max(1.0, std::abs(numeric)))
          << p.name << " " << i;
    }
  }
  EXPECT_LE(kinks, compared / 50);
}

TEST(Gradients, OfVit3AreCentralDifferences) {
  const auto model = double_vit3();
  const at::Tensor images = images_for(2, 16, 12);
  expect_central_differences(*model, [&] { return score(model->forward(images, {}).logits); });
}

TEST(Gradients, OfHVit3AreCentralDifferences) {
  const auto model = double_hvit3();
  model->train();
  const at::Tensor images = images_for(2, 64, 32);
  expect_central_differences(*model, [&] { return score(model->forward(images, {}).logits); });
}

TEST(Gradients, OfVit3AreThoseOfTheComposition) {
  const auto model = double_vit3();
  const at::Tensor images = images_for(3, 20, 12);
  const at::Tensor logits = model->forward(images, {}).logits;
  const at::Tensor composed = composed_vit3(kVit3, *model, images);
  EXPECT_LT(relative_to_max(logits, composed), 1e-9);
  expect_close(gradients(*model, score(logits)), gradients(*model, score(composed)), 1e-9);
}

TEST(Gradients, OfHVit3AreThoseOfTheComposition) {
  const auto model = double_hvit3();
  model->train();
  const at::Tensor images = images_for(3, 64, 96);
  const at::Tensor logits = model->forward(images, {}).logits;
  const at::Tensor composed = composed_hvit3(kHVit3, *model, images);
  EXPECT_LT(relative_to_max(logits, composed), 1e-9);
  expect_close(gradients(*model, score(logits)), gradients(*model, score(composed)), 1e-9);
}

// The kernels that training uses by default, in float against double.
TEST(Gradients, OfTheDefaultKernelsAreThoseOfTheReference) {
  for (const bool hierarchical : {false, true}) {
    const auto exact = hierarchical ? double_hvit3() : double_vit3();
    const auto fast = hierarchical ? double_hvit3() : double_vit3();
    fast->to(at::kFloat);
    const at::Tensor images = hierarchical ? images_for(3, 64, 64) : images_for(3, 20, 12);
    const auto expected = gradients(
        *exact, score(exact->forward(images, {.backend = ops::Backend::reference}).logits));
    const auto actual = gradients(*fast, score(fast->forward(images.to(at::kFloat), {}).logits));
    expect_close(actual, expected, 2e-4);
  }
}

TEST(Recompute, ChangesNoGradient) {
  for (const bool hierarchical : {false, true}) {
    const auto model = hierarchical ? double_hvit3() : double_vit3();
    const at::Tensor images = hierarchical ? images_for(2, 64, 64) : images_for(2, 16, 16);
    training::Random random(4);
    vision::ForwardContext context;
    context.branch_factors = vision::draw_branch_factors(model->blocks(), 2, 0.5, random);
    const auto run = [&](bool recompute) {
      model->zero_grad();
      context.recompute = recompute;
      score(model->forward(images, context).logits).backward();
      NamedTensors result;
      for (const NamedTensor& p : training::trainable_parameters(*model))
        result.push_back({p.name, p.tensor.grad().clone()});
      return result;
    };
    const NamedTensors expected = run(false), actual = run(true);
    for (std::size_t i = 0; i < actual.size(); ++i)
      EXPECT_TRUE(at::equal(actual[i].tensor, expected[i].tensor)) << actual[i].name;
  }
}

TEST(DropPath, RatesGrowLinearlyAndKeptBranchesAreScaled) {
  training::Random random(1);
  constexpr std::int64_t kBatch = 20000;
  const at::Tensor factors = vision::draw_branch_factors(3, kBatch, 0.4, random);
  EXPECT_TRUE(at::equal(factors[0], at::ones({2, kBatch})));
  const double dropped[] = {0.0, 0.2, 0.4};
  for (std::int64_t block = 0; block < 3; ++block) {
    const double share = (factors[block] == 0).to(at::kDouble).mean().item<double>();
    EXPECT_NEAR(share, dropped[block], 0.01);
    EXPECT_NEAR(factors[block].max().item<double>(), 1 / (1 - dropped[block]), 1e-6);
  }
}

TEST(DropPath, ADroppedSampleSkipsBothBranches) {
  const auto model = double_vit3();
  const at::Tensor images = images_for(2, 16, 16);
  vision::ForwardContext context;
  context.branch_factors = at::ones({2, 2, 2});
  const at::Tensor all = model->forward(images, {}).logits;
  EXPECT_TRUE(at::equal(model->forward(images, context).logits, all));
  context.branch_factors.select(2, 1).zero_();
  const at::Tensor half = model->forward(images, context).logits;
  EXPECT_TRUE(at::equal(half[0], all[0]));
  EXPECT_FALSE(at::allclose(half[1], all[1]));
}

}  // namespace
}  // namespace ttt::test
