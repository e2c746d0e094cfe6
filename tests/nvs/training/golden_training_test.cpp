// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// One batch of the official training code: loss, gradients, parameters after AdamW's steps, and the
// learning rates of its schedule.
#include "core/weights/weight_file.h"
#include "nvs/model/lvsm.h"
#include "tests/support/paths.h"
#include "training/gradients.h"
#include "training/optimizer.h"
#include "training/schedule.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include <fstream>

namespace ttt::nvs {
namespace {

using test::shared;
using training::NamedTensors;

constexpr std::int64_t kInputs = 3, kTargets = 2;
constexpr double kRate = 1e-4;

struct Golden {
  WeightFile file = WeightFile::open(shared("golden/nvs/train/step.safetensors"));
  LvsmModel model{read_lvsm_config(shared("golden/nvs/train/config.yaml"))};
  nlohmann::json json = nlohmann::json::parse(std::ifstream(shared("golden/nvs/train/step.json")));
  NamedTensors parameters;

  explicit Golden(at::ScalarType dtype) {
    model.to(dtype);
    parameters = training::trainable_parameters(model);
    const torch::NoGradGuard no_grad;
    for (const NamedTensor& p : parameters)
      at::Tensor(p.tensor).copy_(file.read("param." + p.name));
  }

  at::Tensor loss() const {
    const at::Tensor images = file.read("image");
    const auto cameras = [&](std::int64_t first, std::int64_t count) {
      return CameraTensors{file.read("c2w").narrow(1, first, count),
                           file.read("fxfycxcy").narrow(1, first, count), images.size(3),
                           images.size(4)};
    };
    const at::Tensor rendered =
        model.joint(images.narrow(1, 0, kInputs), cameras(0, kInputs), cameras(kInputs, kTargets));
    return at::mse_loss(rendered, images.narrow(1, kInputs, kTargets).to(rendered.scalar_type()));
  }

  double gradient_error(const NamedTensor& p) const {
    const at::Tensor expected = file.read("f64.grad." + p.name).to(at::kDouble);
    return (p.tensor.grad().to(at::kDouble) - expected).norm().item<double>();
  }
  double gradient_size(const NamedTensor& p) const {
    return file.read("f64.grad." + p.name).to(at::kDouble).norm().item<double>();
  }
};

class GoldenTraining : public testing::Test {
 protected:
  void SetUp() override { TTT_REQUIRE_SHARED("golden/nvs/train"); }
};

TEST_F(GoldenTraining, LossAndGradients) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
    const Golden golden(dtype);
    const at::Tensor loss = golden.loss();
    loss.backward();
    const double expected = golden.json["losses_f64"][0].get<double>();
    EXPECT_NEAR(loss.item<double>(), expected, dtype == at::kDouble ? 1e-12 : 1e-6);
    const double norm = training::gradient_norm(golden.parameters);
    EXPECT_NEAR(norm, golden.json["grad_norms_f64"][0].get<double>(),
                dtype == at::kDouble ? 1e-9 : 1e-5);
    for (const NamedTensor& p : golden.parameters) {
      // The rates' common factor cancels in Newton-Schulz: their bias has nearly no gradient.
      const double size = p.name.ends_with("lr_fc.bias") ? norm * 1e-2 : golden.gradient_size(p);
      EXPECT_LE(golden.gradient_error(p), size * (dtype == at::kDouble ? 1e-6 : 2e-4)) << p.name;
    }
  }
}

TEST_F(GoldenTraining, ParametersAfterStepsOfAdamW) {
  const Golden golden(at::kDouble);
  const auto optimizer =
      training::make_optimizer(golden.parameters, {.beta2 = 0.95, .weight_decay = 0.05});
  for (int step = 1; step <= 3; ++step) {
    const at::Tensor loss = golden.loss();
    EXPECT_NEAR(loss.item<double>(),
                golden.json["losses_f64"][static_cast<std::size_t>(step - 1)].get<double>(), 1e-9);
    loss.backward();
    optimizer->step(kRate);
    training::clear_gradients(golden.parameters);
    if (step == 2) continue;
    for (const NamedTensor& p : golden.parameters) {
      const at::Tensor expected =
          golden.file.read("f64.after_step" + std::to_string(step) + "." + p.name);
      const double worst =
          (p.tensor.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>();
      EXPECT_LE(worst, 1e-6) << p.name << " after step " << step;
    }
  }
}

TEST_F(GoldenTraining, LearningRates) {
  const training::WarmupCosine schedule{.base = 1,
                                        .warmup_start = 0,
                                        .minimum = 0,
                                        .warmup_steps = 4000,
                                        .total_steps = 80000,
                                        .after_warmup = true};
  const nlohmann::json json =
      nlohmann::json::parse(std::ifstream(shared("golden/nvs/train/step.json")));
  int compared = 0;
  for (const auto& [step, rate] : json["schedule_warmup4000_total80000"].items()) {
    EXPECT_NEAR(schedule.at_step(std::stoll(step)), rate.get<double>(), 1e-12) << step;
    ++compared;
  }
  EXPECT_EQ(compared, 12);
}

}  // namespace
}  // namespace ttt::nvs
