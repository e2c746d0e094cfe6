// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/lact/fast_weights.h"

#include "core/error.h"
#include "core/weights/safetensors_writer.h"
#include "tests/support/paths.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace ttt::layers {
namespace {

FastWeights state(bool with_norms, bool with_momentum) {
  at::manual_seed(3);
  const ops::SwigluMatrices w{at::randn({2, 3, 4, 6}), at::randn({2, 3, 6, 4}),
                              at::randn({2, 3, 4, 6})};
  FastWeights result{w, {}, {}};
  if (with_norms) result.norms = fast_weight_norms(w);
  if (with_momentum) result.momentum = {w.w0 * 2, w.w1 * 2, w.w2 * 2};
  return result;
}

void expect_equal(const ops::SwigluMatrices& a, const ops::SwigluMatrices& b) {
  ASSERT_EQ(a.w0.defined(), b.w0.defined());
  if (!a.w0.defined()) return;
  EXPECT_TRUE(a.w0.equal(b.w0));
  EXPECT_TRUE(a.w1.equal(b.w1));
  EXPECT_TRUE(a.w2.equal(b.w2));
}

TEST(FastWeightsFile, RoundTrip) {
  const test::TempDir folder;
  const std::map<std::string, FastWeights> layers{{"blocks.0", state(true, true)},
                                                  {"blocks.1", state(true, false)},
                                                  {"blocks.2", state(false, false)}};
  save_fast_weights(folder / "state.safetensors", layers, {{"config", "{\"dim\": 12}"}});
  const FastWeightsFile file = load_fast_weights(folder / "state.safetensors");
  EXPECT_EQ(file.metadata.at("config"), "{\"dim\": 12}");
  ASSERT_EQ(file.layers.size(), layers.size());
  for (const auto& [name, expected] : layers) {
    const FastWeights& actual = file.layers.at(name);
    expect_equal(actual.weights, expected.weights);
    expect_equal(actual.norms, expected.norms);
    expect_equal(actual.momentum, expected.momentum);
  }
}

TEST(FastWeightsFile, Bfloat16RoundsTheWeightsAlone) {
  const test::TempDir folder;
  const FastWeights from = state(true, false);
  save_fast_weights(folder / "a", {{"x", from}}, {}, StateDtype::bfloat16);
  const FastWeights to = load_fast_weights(folder / "a").layers.at("x");
  EXPECT_TRUE(to.weights.w0.equal(from.weights.w0.to(at::kBFloat16).to(at::kFloat)));
  expect_equal(to.norms, from.norms);
}

TEST(FastWeightsFile, RefusesOtherFiles) {
  const test::TempDir folder;
  const std::map<std::string, std::string> format{{"ttt_format", "ttt fast weights 1"}};
  const at::Tensor w = at::ones({1, 1, 4, 6}), wt = at::ones({1, 1, 6, 4});
  const auto refuses = [&](const std::vector<NamedTensor>& tensors,
                           const std::map<std::string, std::string>& metadata) {
    const std::filesystem::path path = folder / "bad.safetensors";
    write_safetensors(path, tensors, metadata);
    EXPECT_THROW(load_fast_weights(path), Error);
  };
  refuses({{"x.w0", w}, {"x.w1", wt}, {"x.w2", w}}, {});
  refuses({{"x.w0", w}, {"x.w1", wt}}, format);
  refuses({{"x.w0", w}, {"x.w1", w}, {"x.w2", w}}, format);
  refuses({{"x.w0", w}, {"x.w1", wt}, {"x.w2", w.squeeze(0)}}, format);
  refuses({{"x.norm0", w}, {"x.norm1", wt}, {"x.norm2", w}}, format);
  refuses({{"x.w0", w}, {"x.w1", wt}, {"x.w2", w}, {"x.bias", w}}, format);
  refuses({{"x.w0", w}, {"x.w1", wt}, {"x.w2", w * std::numeric_limits<float>::infinity()}},
          format);
  refuses({{"x.w0", w}, {"x.w1", wt}, {"x.w2", w}, {"x.norm0", w}, {"x.norm1", wt}, {"x.norm2", w}},
          format);
  refuses({{"x.w0", w.to(at::kInt)}, {"x.w1", wt}, {"x.w2", w}}, format);
  EXPECT_THROW(load_fast_weights(folder / "absent"), Error);
}

TEST(FastWeights, MergingNeedsEqualShapes) {
  EXPECT_THROW(merge_gradients({}), Error);
  EXPECT_THROW(
      merge_gradients({state(false, false).weights,
                       {at::ones({1, 1, 2, 2}), at::ones({1, 1, 2, 2}), at::ones({1, 1, 2, 2})}}),
      Error);
}

}  // namespace
}  // namespace ttt::layers
