// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Closed-form inner gradients against autograd's with create_graph, over the whole design space:
// outputs, and the outer gradients of all parameters and of x.
#include "tests/vision/design_space/block_support.h"
#include "vision/design_space/general_ttt_block.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::test {
namespace {

using vision::InnerConfig;
using vision::InnerGradients;
using vision::InnerModelKind;

/// Every loss, batch, number of epochs, rate rule and clip, for one model. Twelve unclipped steps
/// would blow up rounding beyond the tolerance of float: the rate falls with the number of steps.
std::vector<InnerConfig> points_of(InnerModelKind model, std::int64_t width) {
  std::vector<InnerConfig> points;
  for (const auto loss : {vision::InnerLoss::dot, vision::InnerLoss::mse, vision::InnerLoss::rmse,
                          vision::InnerLoss::mae, vision::InnerLoss::smooth_l1})
    for (const std::int64_t batches : {1, 2, 4})
      for (const std::int64_t epochs : {1, 3})
        for (const auto rule : {vision::InnerRateRule::fixed, vision::InnerRateRule::dynamic})
          for (const auto clip : {vision::InnerClip::column, vision::InnerClip::none})
            points.push_back(
                {.model = model,
                 .width = width,
                 .loss = loss,
                 .batches = batches,
                 .epochs = epochs,
                 .learning_rate = batches == 1 ? 1.0 : 1.0 / static_cast<double>(batches + 1),
                 .rate_rule = rule,
                 .clip = clip});
  return points;
}

void expect_implementations_agree(const InnerConfig& config, const BlockCase& size,
                                  double tolerance) {
  SCOPED_TRACE(describe(config));
  vision::GeneralTttBlock block(size.dim, size.heads, config);
  fill_block(block, size);
  const auto run = [&](InnerGradients gradients) {
    return run_block(block, size, {.inner_gradients = gradients});
  };
  const BlockRun by_autograd = run(InnerGradients::autograd);
  expect_same(run(InnerGradients::closed_form), by_autograd, tolerance);
  expect_same(run(InnerGradients::automatic), by_autograd, tolerance);
}

class InnerGradientsOf : public testing::TestWithParam<std::pair<InnerModelKind, std::int64_t>> {};

TEST_P(InnerGradientsOf, AgreeInDouble) {
  const auto [model, width] = GetParam();
  for (const InnerConfig& config : points_of(model, width))
    expect_implementations_agree(config, {}, 1e-10);
}

// A grid of one column, one of one token, one head, and batches that no number of tokens divides.
TEST_P(InnerGradientsOf, AgreeInFloatOnOddSizes) {
  const auto [model, width] = GetParam();
  const std::vector<BlockCase> sizes{
      {.dim = 10, .heads = 2, .batch = 3, .grid = {7, 1}, .dtype = at::kFloat},
      {.dim = 7, .heads = 1, .batch = 1, .grid = {1, 1}, .dtype = at::kFloat},
      {.dim = 9, .heads = 3, .batch = 2, .grid = {4, 5}, .dtype = at::kFloat}};
  const std::vector<InnerConfig> points = points_of(model, width);
  for (std::size_t i = 0; i < points.size(); ++i)
    expect_implementations_agree(points[i], sizes[i % sizes.size()], 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Models, InnerGradientsOf,
    testing::Values(std::pair{InnerModelKind::vit3, 1}, std::pair{InnerModelKind::linear, 1},
                    std::pair{InnerModelKind::silu_linear, 1}, std::pair{InnerModelKind::mlp2, 1},
                    std::pair{InnerModelKind::mlp2, 2}, std::pair{InnerModelKind::mlp2, 3},
                    std::pair{InnerModelKind::mlp2, 4}, std::pair{InnerModelKind::mlp3, 1},
                    std::pair{InnerModelKind::mlp3, 2}, std::pair{InnerModelKind::swiglu, 1},
                    std::pair{InnerModelKind::swiglu, 2},
                    std::pair{InnerModelKind::gated_linear, 1}, std::pair{InnerModelKind::conv, 1},
                    std::pair{InnerModelKind::depthwise, 1}),
    [](const auto& test) {
      return std::string(name_of(test.param.first)) + std::to_string(test.param.second);
    });

}  // namespace
}  // namespace ttt::test
