// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The official block's numbers: the anchors of the reproducible fill, and the golden op cases.
#include "core/weights/weight_file.h"
#include "kernels/rope_2d/rope_2d.h"
#include "kernels/ttt_depthwise/ttt_depthwise.h"
#include "kernels/ttt_gated_linear/ttt_gated_linear.h"
#include "tests/support/compare.h"
#include "tests/support/fill.h"
#include "tests/support/paths.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <stdexcept>

namespace ttt::ops {
namespace {

using test::fill_weight;

struct Anchor {
  double sum, absolute_sum;
  std::array<double, 4> elements;  ///< flat elements 0, 1, n/2, n-1
};

void expect_anchor(const at::Tensor& tensor, const Anchor& anchor) {
  const at::Tensor flat = tensor.to(at::kDouble).reshape(-1);
  const std::int64_t n = flat.numel();
  EXPECT_NEAR(flat.sum().item<double>(), anchor.sum, 1e-5 * anchor.absolute_sum);
  EXPECT_NEAR(flat.abs().sum().item<double>(), anchor.absolute_sum, 1e-5 * anchor.absolute_sum);
  const std::array<std::int64_t, 4> places{0, 1, n / 2, n - 1};
  for (std::size_t i = 0; i < places.size(); ++i)
    EXPECT_NEAR(flat[places[i]].item<double>(), anchor.elements[i], 2e-6) << "element " << i;
}

class Anchors : public testing::TestWithParam<Backend> {};

// Inner heads [B, heads, N, d] come as channels of a token here.
at::Tensor tokens(const char* name) {
  return test::fill(name, {2, 2, 12, 16}).transpose(1, 2).reshape({2, 12, 32});
}

TEST_P(Anchors, InnerWeights) {
  const at::Tensor w1 = fill_weight("w1", {1, 2, 16, 16}), w2 = fill_weight("w2", {1, 2, 16, 16});
  const InnerWeights weights = gated_linear_step(tokens("k"), tokens("v"), w1, w2, GetParam());
  expect_anchor(weights.w1, {4.776929, 264.026488, {0.065220, -0.400338, 0.065098, 0.384260}});
  expect_anchor(weights.w2, {13.765109, 267.125232, {0.304726, 0.272263, 0.294550, -0.011132}});
}

TEST_P(Anchors, InnerKernels) {
  const auto grid = [](const char* name) {
    return test::fill(name, {2, 16, 3, 4}).permute({0, 2, 3, 1});
  };
  const at::Tensor kernels =
      depthwise_step(grid("k2"), grid("v2"), fill_weight("w3", {16, 1, 3, 3}), GetParam());
  const at::Tensor official = depthwise_conv_weight(kernels);
  ASSERT_EQ(official.sizes(), at::IntArrayRef({32, 1, 3, 3}));
  expect_anchor(official, {-13.106988, 73.603010, {0.189542, -0.527061, 0.224631, -0.004082}});
}

TEST_P(Anchors, Rope) {
  const RopeTable table = make_rope_table(2, 3, 8);
  expect_anchor(rope_rotations(table), {24.984514, 26.649101, {1, 0, 0.540302, 0.019999}});
  const at::Tensor x = test::fill("x", {1, 2, 3, 8}).view({1, 6, 8});
  expect_anchor(rope_2d(x, table, GetParam()),
                {1.821519, 24.580091, {-0.629976, 0.878022, -0.019955, 0.970184}});
}

INSTANTIATE_TEST_SUITE_P(Backends, Anchors, testing::Values(Backend::reference, Backend::cpu),
                         [](const auto& test) { return std::string(to_string(test.param)); });

/// The table as the official code computes it, over the whole grid at once.
at::Tensor official_rotations(std::int64_t height, std::int64_t width, std::int64_t channels) {
  const std::int64_t pairs = channels / 4;
  const at::Tensor theta = 1 / at::pow(10000, at::arange(pairs) / pairs);
  const at::Tensor rows = at::arange(height).view({height, 1, 1}).expand({height, width, 1});
  const at::Tensor columns = at::arange(width).view({1, width, 1}).expand({height, width, 1});
  const at::Tensor angles = at::cat({rows * theta, columns * theta}, -1);
  return at::stack({angles.cos(), angles.sin()}, -1);
}

TEST(RopeTable, IsTheOfficialBufferBitForBit) {
  for (const auto& [height, width, channels] :
       std::initializer_list<std::array<std::int64_t, 3>>{{56, 56, 64},
                                                          {28, 28, 128},
                                                          {14, 14, 320},
                                                          {7, 7, 512},
                                                          {14, 14, 448},
                                                          {200, 336, 96},
                                                          {3, 5, 4},
                                                          {1, 1, 64}}) {
    const at::Tensor actual = rope_rotations(make_rope_table(height, width, channels));
    EXPECT_TRUE(actual.equal(official_rotations(height, width, channels)))
        << height << "x" << width << ", " << channels << " channels";
  }
}

TEST(RopeTable, MatchesStoredBuffersBitForBit) {
  TTT_REQUIRE_SHARED("golden/vision/hvit3_micro.pth");
  // The raw model: in the averaged one, some values have moved by a rounding.
  const WeightFile file =
      WeightFile::open(test::shared("golden/vision/hvit3_micro.pth"), {.weights_key = "model"});
  int found = 0;
  for (const auto& info : file.tensors()) {
    if (!info.name.ends_with("rope.rotations")) continue;
    const at::Tensor expected = file.read(info.name);
    const RopeTable table =
        make_rope_table(expected.size(0), expected.size(1), 2 * expected.size(2));
    EXPECT_TRUE(rope_rotations(table).equal(expected)) << info.name;
    ++found;
  }
  EXPECT_GT(found, 0);
}

/// One case of ttt_op.safetensors: the block alone, with weights by the fill.
struct GoldenCase {
  std::string name;
  std::int64_t batch = 0, height = 0, width = 0, channels = 0, heads = 0;
  bool rope = false;
  std::string input;
  double factor = 0;
};

std::vector<GoldenCase> golden_cases(const WeightFile& file) {
  std::vector<GoldenCase> cases;
  const nlohmann::json info = nlohmann::json::parse(file.metadata().at("info"));
  for (const auto& [name, text] : info.items()) {
    // "dim 96 heads 3 batch 1 grid 5x7 rope True input x*1.0"
    GoldenCase c{.name = name};
    std::array<char, 8> rope{}, input{};
    const int found = std::sscanf(
        text.get<std::string>().c_str(),
        "dim %ld heads %ld batch %ld grid %ldx%ld rope %7s input %7[^*]*%lf", &c.channels, &c.heads,
        &c.batch, &c.height, &c.width, rope.data(), input.data(), &c.factor);
    if (found != 8) throw std::runtime_error("unexpected metadata: " + text.get<std::string>());
    c.rope = std::string(rope.data()) == "True";
    c.input = input.data();
    cases.push_back(c);
  }
  return cases;
}

/// The whole block, y = proj(concat(x1, x2)), with the qkv slices read in place.
void expect_golden(const WeightFile& file, const GoldenCase& c, Backend backend) {
  const std::int64_t channels = c.channels, d = channels / c.heads, n = c.height * c.width;
  const at::Tensor x = test::fill(c.input, {c.batch, n, channels}, c.factor);
  const auto weight = [](const char* name, at::IntArrayRef shape) {
    return fill_weight(name, shape);
  };
  const at::Tensor qkv = at::linear(x, weight("qkv.weight", {3 * channels + 3 * d, channels}),
                                    weight("qkv.bias", {3 * channels + 3 * d}));
  const auto part = [&](std::int64_t i) { return qkv.narrow(2, i * channels, channels); };
  const auto grid = [&](std::int64_t i) {
    return qkv.narrow(2, 3 * channels + i * d, d).unflatten(1, {c.height, c.width});
  };
  const RopeTable table = make_rope_table(c.height, c.width, channels);
  const RopeTable* rope = c.rope ? &table : nullptr;
  const InnerWeights weights = gated_linear_step(part(1), part(2), weight("w1", {1, c.heads, d, d}),
                                                 weight("w2", {1, c.heads, d, d}), backend, rope);
  const at::Tensor kernels = depthwise_step(grid(1), grid(2), weight("w3", {d, 1, 3, 3}), backend);
  const at::Tensor joined = at::empty({c.batch, n, channels + d});
  gated_linear_apply_out(part(0), weights, joined.narrow(2, 0, channels), backend, rope);
  depthwise_apply_out(grid(0), kernels,
                      joined.narrow(2, channels, d).unflatten(1, {c.height, c.width}), backend);
  const at::Tensor out = at::linear(joined, weight("proj.weight", {channels, channels + d}),
                                    weight("proj.bias", {channels}));
  const auto expect = [&](const char* part_name, const at::Tensor& actual) {
    const at::Tensor expected = file.read(c.name + "." + part_name);
    EXPECT_LE(test::relative_to_max(actual, expected), 1e-5)
        << part_name << ": " << test::is_close(actual, expected, 1e-5).message();
  };
  expect("W1", weights.w1);
  expect("W2", weights.w2);
  expect("W3", depthwise_conv_weight(kernels));
  expect("x1x2", joined);
  expect("out", out);
}

TEST(GoldenBlock, EveryCaseOnEveryBackend) {
  TTT_REQUIRE_SHARED("golden/vision/ttt_op.safetensors");
  const WeightFile file = WeightFile::open(test::shared("golden/vision/ttt_op.safetensors"));
  const std::vector<GoldenCase> cases = golden_cases(file);
  EXPECT_GE(cases.size(), 8U);
  for (const GoldenCase& c : cases)
    for (const Backend backend : {Backend::reference, Backend::cpu}) {
      SCOPED_TRACE(c.name + " on " + std::string(to_string(backend)));
      expect_golden(file, c, backend);
    }
}

}  // namespace
}  // namespace ttt::ops
