// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/training/mixing.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::vision {
namespace {

const std::vector<std::int64_t> kLabels{0, 1, 2, 1};

at::Tensor pictures() {
  return at::arange(4, at::kFloat).view({4, 1, 1, 1}).expand({4, 3, 8, 8}).contiguous();
}

TEST(Targets, AreSmoothedAsInTimm) {
  const at::Tensor targets = smoothed_targets(kLabels, 4, 0.1);
  EXPECT_FLOAT_EQ(targets[2][2].item<float>(), 0.9F + 0.025F);
  EXPECT_FLOAT_EQ(targets[2][0].item<float>(), 0.025F);
  EXPECT_TRUE(at::allclose(targets.sum(1), at::ones({4})));
}

TEST(Mixing, OffGivesTheTargetsAndLeavesThePictures) {
  training::Random random(1);
  const at::Tensor images = pictures();
  const at::Tensor targets =
      mix_batch(images, kLabels, 4, {.mixup_alpha = 0, .cutmix_alpha = 0}, random);
  EXPECT_TRUE(at::equal(images, pictures()));
  EXPECT_TRUE(at::equal(targets, smoothed_targets(kLabels, 4, 0.1)));
  const at::Tensor never = mix_batch(images, kLabels, 4, {.probability = 0}, random);
  EXPECT_TRUE(at::equal(images, pictures()));
}

TEST(Mixing, MixupBlendsWithTheMirroredBatch) {
  training::Random random(3);
  const at::Tensor images = pictures();
  const at::Tensor targets =
      mix_batch(images, kLabels, 3, {.cutmix_alpha = 0, .smoothing = 0}, random);
  // Picture 0 holds 0 and is mixed with 3: its value tells the ratio.
  const double ratio = 1 - images[0][0][0][0].item<double>() / 3;
  EXPECT_GT(ratio, 0);
  EXPECT_LT(ratio, 1);
  const at::Tensor plain = smoothed_targets(kLabels, 3, 0);
  EXPECT_TRUE(
      at::allclose(images, pictures() * ratio + pictures().flip(0) * (1 - ratio), 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(targets, plain * ratio + plain.flip(0) * (1 - ratio), 1e-5, 1e-5));
}

TEST(Mixing, CutmixTakesTheRatioFromTheRealArea) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    training::Random random(seed);
    const at::Tensor images = pictures();
    const at::Tensor targets =
        mix_batch(images, kLabels, 3, {.mixup_alpha = 0, .smoothing = 0}, random);
    const at::Tensor pasted = images[0][0] == 3;  // a box of the last picture in the first
    EXPECT_TRUE(at::equal(pasted, images[3][0] == 0));
    const double kept = 1 - pasted.to(at::kDouble).mean().item<double>();
    EXPECT_NEAR(targets[0][0].item<double>(), kept, 1e-6) << seed;
    EXPECT_NEAR(targets[0][1].item<double>(), 1 - kept, 1e-6) << seed;
  }
}

TEST(Mixing, BothAreChosenAboutEquallyOften) {
  int boxes = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    training::Random random(seed);
    const at::Tensor images = pictures();
    mix_batch(images, kLabels, 3, {}, random);
    const at::Tensor values = images[0];
    boxes += ((values == 0) | (values == 3)).all().item<bool>() ? 1 : 0;
  }
  EXPECT_NEAR(boxes, 200, 50);
}

}  // namespace
}  // namespace ttt::vision
