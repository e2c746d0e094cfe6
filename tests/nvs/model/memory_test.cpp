// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The estimate against what LibTorch's allocator counts.
#include "nvs/model/memory_estimate.h"
#include "tests/nvs/model/model_support.h"
#include "tests/support/tensor_peak.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::test {
namespace {

struct MemoryCase {
  std::string name;
  nvs::LvsmConfig config;
  std::int64_t views, width, height;
  nvs::RendererOptions options;
};

void PrintTo(const MemoryCase& c, std::ostream* out) {
  *out << c.name;
}

nvs::LvsmConfig model_of(std::int64_t dim, std::int64_t head, double multi, std::int64_t layers,
                         std::int64_t patch) {
  nvs::LvsmConfig config = small_lvsm();
  config.patch_size = patch;
  config.dim = dim;
  config.layers = layers;
  config.block[0].head_dim = 32;
  config.block[1].head_dim = head;
  config.block[1].inter_multi = multi;
  return config;
}

class Memory : public testing::TestWithParam<MemoryCase> {};

TEST_P(Memory, EstimateIsWithin15Percent) {
  const MemoryCase& c = GetParam();
  const auto model = random_model(c.config);
  const nvs::LvsmRenderer renderer(*model, c.options);
  const nvs::PosedViews values = random_views(c.views, c.height, c.width);
  const nvs::PosedViews views{values.cameras, (values.images * 255).to(at::kByte)};
  const nvs::MemoryEstimate estimate = nvs::estimate_memory(
      c.config, {c.views, c.views, c.width, c.height, c.width, c.height}, c.options);
  nvs::FastWeightMap state;
  const std::int64_t reconstruct = tensor_peak([&] { state = renderer.reconstruct(views); });
  const std::int64_t render = tensor_peak([&] { renderer.render(state, views.cameras); });
  const auto near = [](std::int64_t estimated, std::int64_t measured) {
    const double ratio = static_cast<double>(estimated) / static_cast<double>(measured);
    EXPECT_GE(ratio, 0.85) << estimated << " estimated, measured " << measured;
    EXPECT_LE(ratio, 1.15) << estimated << " estimated, measured " << measured;
  };
  {
    SCOPED_TRACE("reconstruct");
    near(estimate.residual + estimate.state + estimate.reconstruct, reconstruct);
  }
  SCOPED_TRACE("render");
  near(estimate.render, render);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, Memory,
    testing::Values(
        // Residual stream, then tiles, then updates, then the view itself dominate.
        MemoryCase{"many views", model_of(64, 64, 2, 3, 8), 48, 128, 128, {.tile_tokens = 512}},
        MemoryCase{"one tile", model_of(64, 32, 2, 2, 8), 6, 128, 128, {}},
        MemoryCase{"wide state", model_of(256, 256, 4, 2, 8), 2, 32, 32, {}},
        MemoryCase{"large view", model_of(64, 64, 2, 2, 8), 3, 256, 256, {.tile_tokens = 256}},
        MemoryCase{"small patch", model_of(64, 64, 2, 2, 4), 8, 64, 64, {}},
        MemoryCase{"bf16", model_of(64, 64, 2, 3, 8), 12, 128, 128, {.dtype = at::kBFloat16}},
        MemoryCase{"bf16, large view",
                   model_of(64, 64, 2, 2, 8),
                   3,
                   256,
                   256,
                   {.dtype = at::kBFloat16, .tile_tokens = 256}}));

TEST(Memory, WeightsAndStateOfPublishedModels) {
  const nvs::LvsmConfig& config = nvs::find_lvsm_preset("lact_l24_d768_ttt2x").config;
  const nvs::MemoryEstimate full = nvs::estimate_memory(config, {}, {});
  EXPECT_EQ(full.weights, config.parameter_count() * 4);
  EXPECT_NEAR(static_cast<double>(full.state) / (1 << 20), 324, 1);
  const nvs::MemoryEstimate narrow = nvs::estimate_memory(config, {}, {.dtype = at::kBFloat16});
  EXPECT_LT(narrow.weights, full.weights);
  EXPECT_GT(narrow.weights, full.weights / 2);
}

TEST(Memory, AMillionTokens) {
  // 128 views of 960x536 with the 4x model: the residual stream and not much more.
  const nvs::LvsmConfig& config = nvs::find_lvsm_preset("lact_l24_d768_ttt4x").config;
  const nvs::MemoryEstimate estimate =
      nvs::estimate_memory(config, {128, 1, 960, 536, 960, 536}, {});
  EXPECT_EQ(nvs::token_count(config, 128, 960, 536), 1029120);
  EXPECT_EQ(estimate.residual, std::int64_t{1029120} * 768 * 4);
  EXPECT_LT(estimate.peak(), std::int64_t{7} << 30);
}

}  // namespace
}  // namespace ttt::test
