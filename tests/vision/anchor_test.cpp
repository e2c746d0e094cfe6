// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Numeric anchors of small configurations: sums and single elements computed with the official
// code.
#include "tests/support/fill.h"
#include "tests/vision/model_support.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <array>

namespace ttt::test {
namespace {

struct Anchor {
  double sum, absolute_sum;
  std::array<double, 4> elements;  // flat elements 0, 1, n/2, n−1
};

/// Anchors are printed with six decimals; sums collect the rounding of fp32 over their elements.
void expect_anchor(const at::Tensor& tensor, const Anchor& anchor) {
  const at::Tensor flat = tensor.contiguous().flatten().to(torch::kDouble);
  const std::int64_t n = flat.numel();
  const double scale = flat.abs().max().item<double>();
  EXPECT_NEAR(flat.sum().item<double>(), anchor.sum, 1e-5 * anchor.absolute_sum);
  EXPECT_NEAR(flat.abs().sum().item<double>(), anchor.absolute_sum, 1e-5 * anchor.absolute_sum);
  const std::array<std::int64_t, 4> places{0, 1, n / 2, n - 1};
  for (std::size_t i = 0; i < places.size(); ++i)
    EXPECT_NEAR(flat[places[i]].item<double>(), anchor.elements[i], 1e-5 * scale + 1e-6)
        << "element " << places[i];
}

TEST(Anchor, Vit3) {
  const auto model = filled_model(
      {vision::Vit3Config{.dim = 32, .depth = 2, .heads = 2, .patch = 8, .classes = 5}});
  const auto run = run_traced(*model, fill("img", {2, 3, 32, 32}));
  expect_anchor(run.output.logits,
                {0.214621, 1.454220, {0.176761, -0.000577, 0.217832, -0.177671}});
}

TEST(Anchor, HVit3) {
  const auto model = filled_model({vision::HVit3Config{
      .dims = {16, 32, 48, 64}, .depths = {1, 1, 2, 1}, .heads = {1, 2, 3, 2}, .classes = 5}});
  const auto run = run_traced(*model, fill("img", {2, 3, 64, 64}));
  expect_anchor(run.output.logits, {7.509031, 11.571016, {1.346530, 0.233437, 1.085445, 2.128855}});
  expect_anchor(run.trace.at("patch_embed"),
                {220.288633, 1240.127100, {0.139729, -0.215089, 0.134070, 0.033504}});
  expect_anchor(run.trace.at("layers.0.downsample"),
                {213.569913, 4560.018782, {-0.145159, -0.119824, 0.048806, 1.506326}});
}

}  // namespace
}  // namespace ttt::test
