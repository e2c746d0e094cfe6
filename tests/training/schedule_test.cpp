// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/schedule.h"

#include "training/ema.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::training {
namespace {

const WarmupCosine kSchedule{
    .base = 0.1, .warmup_start = 0.01, .minimum = 0.02, .warmup_steps = 10, .total_steps = 100};

TEST(WarmupCosine, WarmsUpLinearly) {
  EXPECT_DOUBLE_EQ(kSchedule.value(0), 0.01);
  EXPECT_DOUBLE_EQ(kSchedule.value(5), 0.01 + 5 * 0.09 / 10);
}

TEST(WarmupCosine, CosineIsNotShiftedByTheWarmUp) {
  // cos(pi/10) = 0.9510565162951535, so the rate drops a little below the base at once.
  EXPECT_NEAR(kSchedule.value(10), 0.02 + 0.04 * (1 + 0.9510565162951535), 1e-15);
  EXPECT_NEAR(kSchedule.value(50), 0.06, 1e-15);
  EXPECT_NEAR(kSchedule.value(99), 0.02 + 0.04 * (1 - 0.9995065603657316), 1e-15);
}

TEST(WarmupCosine, StaysAtTheMinimumAfterwards) {
  EXPECT_DOUBLE_EQ(kSchedule.value(100), 0.02);
  EXPECT_DOUBLE_EQ(kSchedule.value(5000), 0.02);
}

TEST(WarmupCosine, StepUsesTheValueAfterTheStepBefore) {
  EXPECT_DOUBLE_EQ(kSchedule.at_step(0), 0.01);
  EXPECT_DOUBLE_EQ(kSchedule.at_step(1), kSchedule.value(0));
  EXPECT_DOUBLE_EQ(kSchedule.at_step(51), kSchedule.value(50));
}

TEST(WarmupCosine, CanStartAtTheEndOfTheWarmUp) {
  WarmupCosine schedule = kSchedule;
  schedule.after_warmup = true;
  EXPECT_DOUBLE_EQ(schedule.at_step(0), 0.01);
  EXPECT_DOUBLE_EQ(schedule.at_step(5), 0.01 + 5 * 0.09 / 10);
  EXPECT_DOUBLE_EQ(schedule.at_step(10), 0.1);
  EXPECT_NEAR(schedule.at_step(55), 0.06, 1e-15);
  EXPECT_DOUBLE_EQ(schedule.at_step(100), 0.02);
}

TEST(WarmupCosine, WithoutWarmUpStartsAtTheBase) {
  WarmupCosine schedule = kSchedule;
  schedule.warmup_steps = 0;
  EXPECT_DOUBLE_EQ(schedule.at_step(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at_step(1), 0.1);
}

TEST(WarmupCosine, OfficialScaling) {
  const WarmupCosine scaled = scaled_to_batch({}, 1024);
  EXPECT_DOUBLE_EQ(scaled.base, 1e-3);
  EXPECT_DOUBLE_EQ(scaled.warmup_start, 1e-6);
  EXPECT_DOUBLE_EQ(scaled.minimum, 1e-5);
}

struct Pair : torch::nn::Module {
  explicit Pair(double value) {
    weight = register_parameter("weight", torch::full({2}, value));
    mean = register_buffer("running_mean", torch::full({2}, 10 * value));
    count = register_buffer("num_batches_tracked", torch::full({}, 7, torch::kLong));
  }
  at::Tensor weight, mean, count;
};

TEST(MovingAverage, CoversParametersAndBuffers) {
  Pair model(1.0), average(5.0);
  MovingAverage moving(model, average, 0.75);
  EXPECT_EQ(average.weight[0].item<float>(), 1.0F);  // starts as a copy
  {
    const torch::NoGradGuard no_grad;
    model.weight.fill_(3.0);
    model.mean.fill_(-10.0);
    model.count.fill_(8);
  }
  moving.update();
  EXPECT_FLOAT_EQ(average.weight[1].item<float>(), 0.75F * 1 + 0.25F * 3);
  EXPECT_FLOAT_EQ(average.mean[0].item<float>(), 0.75F * 10 - 0.25F * 10);
  EXPECT_EQ(average.count.item<std::int64_t>(), 8);
}

TEST(MovingAverage, OfficialDecayDependsOnTheBatch) {
  EXPECT_DOUBLE_EQ(decay_for_batch(0.9996, 4096), 0.9996);
  EXPECT_NEAR(decay_for_batch(0.9996, 1024), 0.99989998499649901, 1e-15);
}

}  // namespace
}  // namespace ttt::training
