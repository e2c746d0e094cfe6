// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The general block at the published point is the published block.
#include "layers/module_weights.h"
#include "tests/vision/design_space/block_support.h"
#include "vision/design_space/general_ttt_block.h"
#include "vision/ttt_block.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::test {
namespace {

using vision::InnerGradients;

struct Precision {
  at::ScalarType dtype;
  double tolerance;
};

class PublishedPoint : public testing::TestWithParam<InnerGradients> {};

TEST_P(PublishedPoint, IsThePublishedBlock) {
  for (const Precision& precision : {Precision{at::kFloat, 1e-6}, Precision{at::kDouble, 1e-12}})
    for (const BlockCase& sizes :
         {BlockCase{}, BlockCase{.dim = 64, .heads = 2, .batch = 3, .grid = {8, 8}},
          BlockCase{.dim = 48, .heads = 3, .batch = 1, .grid = {1, 7}}}) {
      BlockCase size = sizes;
      size.dtype = precision.dtype;
      SCOPED_TRACE(std::string(c10::toString(size.dtype)) + ", dim " + std::to_string(size.dim));
      vision::TttBlock published(size.dim, size.heads);
      vision::GeneralTttBlock general(size.dim, size.heads, {});
      fill_block(published, size);
      fill_block(general, size);
      expect_same(run_block(general, size, {.inner_gradients = GetParam()}),
                  run_block(published, size, {}), precision.tolerance);
    }
}

INSTANTIATE_TEST_SUITE_P(Implementations, PublishedPoint,
                         testing::Values(InnerGradients::automatic, InnerGradients::closed_form,
                                         InnerGradients::autograd));

TEST(PublishedPoint, HasTheSameKeysAndInitialWeights) {
  vision::TttBlock published(12, 2);
  vision::GeneralTttBlock general(12, 2, {});
  published.initialize(at::make_generator<at::CPUGeneratorImpl>(3));
  general.initialize(at::make_generator<at::CPUGeneratorImpl>(3));
  const auto expected = published.named_parameters(), actual = general.named_parameters();
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& parameter : expected)
    EXPECT_TRUE(actual[parameter.key()].equal(parameter.value())) << parameter.key();
}

// Also where the update is switched off, and in the reports of the inner training.
TEST(PublishedPoint, ReportsAndSwitchAgree) {
  const BlockCase size{.dtype = at::kFloat};
  vision::TttBlock published(size.dim, size.heads);
  vision::GeneralTttBlock general(size.dim, size.heads, {});
  fill_block(published, size);
  fill_block(general, size);
  for (const bool update : {true, false}) {
    std::vector<vision::InnerStepReport> expected, actual;
    expect_same(run_block(general, size, {.inner_update = update, .reports = &actual}),
                run_block(published, size, {.inner_update = update, .reports = &expected}), 1e-6);
    ASSERT_EQ(actual.size(), 1U);
    EXPECT_EQ(actual[0].layer, expected[0].layer);
    EXPECT_EQ(actual[0].steps, expected[0].steps);
    ASSERT_EQ(actual[0].models.size(), expected[0].models.size());
    for (std::size_t i = 0; i < actual[0].models.size(); ++i) {
      const auto &a = actual[0].models[i], &e = expected[0].models[i];
      EXPECT_EQ(a.model, e.model);
      EXPECT_NEAR(a.loss_before, e.loss_before, 1e-5);
      EXPECT_NEAR(a.loss_after, e.loss_after, 1e-5);
      // The published block's report finds the norm from the clipped step.
      EXPECT_NEAR(a.gradient_norm, e.gradient_norm, 1e-4 * a.gradient_norm);
      EXPECT_NEAR(a.update_ratio, e.update_ratio, 1e-5);
    }
  }
}

}  // namespace
}  // namespace ttt::test
