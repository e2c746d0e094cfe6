// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/gradients.h"

#include "nvs/model/lvsm.h"
#include "nvs/training/view_source.h"
#include "tests/support/lvsm.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::nvs {
namespace {

using training::NamedTensors;

/// Weights away from the initialisation, where projections hardly count.
std::shared_ptr<LvsmModel> spread_model() {
  auto model =
      std::make_shared<LvsmModel>(test::small_lvsm({.patch_size = 4, .dim = 16, .mlp_multi = 2}));
  model->initialize(4);
  model->to(at::kDouble);
  const torch::NoGradGuard no_grad;
  torch::manual_seed(4);
  for (at::Tensor& p : model->parameters()) p.add_(at::randn_like(p), 0.1);
  return model;
}

struct Views {
  at::Tensor images;
  CameraTensors cameras;
};

Views views_of(std::uint64_t seed, int count) {
  const SceneViews scene = procedural_views(seed, count, 8, 8);
  std::vector<const Image*> pictures;
  for (const Image& image : scene.images) pictures.push_back(&image);
  CameraTensors cameras = camera_tensors(scene.cameras);
  cameras.c2w = cameras.c2w.unsqueeze(0);
  cameras.fxfycxcy = cameras.fxfycxcy.unsqueeze(0);
  return {image_bytes(pictures).unsqueeze(0), cameras};
}

at::Tensor loss_of(const LvsmModel& model, const Views& views, const LvsmForwardContext& context) {
  constexpr std::int64_t kInputs = 3, kTargets = 2;
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return CameraTensors{views.cameras.c2w.narrow(1, first, count),
                         views.cameras.fxfycxcy.narrow(1, first, count), 8, 8};
  };
  const at::Tensor truth =
      views.images.narrow(1, kInputs, kTargets).to(model.input_linear().scalar_type()).div_(255);
  return at::mse_loss(model.joint(views.images.narrow(1, 0, kInputs), part(0, kInputs),
                                  part(kInputs, kTargets), context),
                      truth);
}

TEST(LvsmGradients, AreCentralDifferences) {
  constexpr double kStep = 1e-5;
  constexpr std::int64_t kElements = 4;
  const auto model = spread_model();
  const Views views = views_of(8, 5);
  const NamedTensors parameters = training::trainable_parameters(*model);
  loss_of(*model, views, {}).backward();
  const double norm = training::gradient_norm(parameters);
  const torch::NoGradGuard no_grad;
  for (const NamedTensor& p : parameters) {
    // The official code takes the lengths that updates scale back to as constants, so the gradients
    // of the learned fast weights are not those of the loss (nor are ours).
    if (p.name.ends_with(".w0") || p.name.ends_with(".w1") || p.name.ends_with(".w2")) continue;
    const at::Tensor gradient = p.tensor.grad().contiguous().view(-1), flat = p.tensor.view(-1);
    for (std::int64_t k = 0; k < kElements; ++k) {
      const std::int64_t i = k * (flat.numel() - 1) / (kElements - 1);
      const double before = flat[i].item<double>();
      flat[i] = before + kStep;
      const double above = loss_of(*model, views, {}).item<double>();
      flat[i] = before - kStep;
      const double below = loss_of(*model, views, {}).item<double>();
      flat[i] = before;
      EXPECT_NEAR(gradient[i].item<double>(), (above - below) / (2 * kStep), 1e-6 * norm)
          << p.name << " " << i;
    }
  }
}

TEST(LvsmGradients, ReachEveryParameter) {
  const auto model = spread_model();
  loss_of(*model, views_of(8, 5), {}).backward();
  for (const NamedTensor& p : training::trainable_parameters(*model)) {
    ASSERT_TRUE(p.tensor.grad().defined()) << p.name;
    EXPECT_GT(p.tensor.grad().abs().max().item<double>(), 0) << p.name;
  }
}

TEST(LvsmGradients, AreTheSameWhenBlocksRunTwice) {
  const auto model = spread_model();
  const Views views = views_of(8, 5);
  const NamedTensors parameters = training::trainable_parameters(*model);
  loss_of(*model, views, {}).backward();
  std::vector<at::Tensor> expected;
  for (const NamedTensor& p : parameters) expected.push_back(p.tensor.grad().clone());
  training::clear_gradients(parameters);
  loss_of(*model, views, {.recompute = true}).backward();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    EXPECT_TRUE(at::equal(parameters[i].tensor.grad(), expected[i])) << parameters[i].name;
}

}  // namespace
}  // namespace ttt::nvs
