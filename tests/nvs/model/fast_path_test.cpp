// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Rendering with every instruction set against the reference in double precision, at numbers of
// views and tokens that no tile divides.
#include "kernels/support/cpu_isa.h"
#include "tests/nvs/model/model_support.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <tuple>

namespace ttt::test {
namespace {

using nvs::LvsmConfig;
using nvs::LvsmRenderer;
using ops::CpuIsa;

struct ViewShape {
  std::int64_t inputs, targets, height, width;
};

/// One token, one row of them, odd grids, and more views than a tile holds.
constexpr ViewShape kShapes[]{{1, 1, 4, 4}, {1, 3, 4, 44}, {3, 1, 20, 12}, {17, 5, 12, 28}};

std::vector<LvsmConfig> widths() {
  LvsmConfig wide = small_lvsm({.dim = 40});  // of a width that no vector divides
  wide.block[1].head_dim = 40;
  return {small_lvsm(), wide};
}

class RendererFastPath : public testing::TestWithParam<std::tuple<at::ScalarType, CpuIsa>> {};

at::Tensor render_with(const LvsmRenderer& renderer, const nvs::PosedViews& inputs,
                       const nvs::CameraTensors& targets, int threads) {
  const int before = at::get_num_threads();
  at::set_num_threads(threads);
  const at::Tensor pictures = renderer.render(renderer.reconstruct(inputs), targets);
  at::set_num_threads(before);
  return pictures;
}

TEST_P(RendererFastPath, MatchesTheReferenceAtOddSizes) {
  const auto [dtype, isa] = GetParam();
  if (isa > ops::best_cpu_isa()) GTEST_SKIP() << "this processor has no " << to_string(isa);
  for (const LvsmConfig& config : widths()) {
    const auto model = random_model(config);
    const LvsmRenderer exact(*model, {.dtype = at::kDouble, .backend = ops::Backend::reference});
    const ops::ScopedCpuIsa scoped(isa);
    const LvsmRenderer fast(*model, {.dtype = dtype});
    for (const auto& [inputs, targets, height, width] : kShapes) {
      SCOPED_TRACE(std::to_string(config.dim) + ", " + std::to_string(inputs) + " views of " +
                   std::to_string(width) + "x" + std::to_string(height));
      const nvs::PosedViews views = random_views(inputs, height, width);
      const nvs::CameraTensors cameras = random_views(targets, height, width, 9).cameras;
      const nvs::PosedViews wide{{views.cameras.c2w.to(at::kDouble),
                                  views.cameras.fxfycxcy.to(at::kDouble), height, width},
                                 views.images.to(at::kDouble)};
      const at::Tensor expected = exact.render(exact.reconstruct(wide), cameras).to(at::kFloat);
      for (const int threads : {1, 3}) {
        const at::Tensor pictures = render_with(fast, views, cameras, threads);
        if (dtype == at::kFloat) {
          EXPECT_LE(max_difference(pictures, expected), 1e-4) << threads << " threads";
        } else {
          EXPECT_GE(psnr_between(pictures, expected), 30) << threads << " threads";
        }
        EXPECT_TRUE(pictures.equal(render_with(fast, views, cameras, threads)))
            << "not the same twice with " << threads << " threads";
      }
    }
  }
}

std::string fast_path_name(const testing::TestParamInfo<RendererFastPath::ParamType>& info) {
  const auto& [dtype, isa] = info.param;
  return std::string(c10::toString(dtype)) + "_" + std::string(to_string(isa));
}

INSTANTIATE_TEST_SUITE_P(Models, RendererFastPath,
                         testing::Combine(testing::Values(at::kFloat, at::kBFloat16),
                                          testing::ValuesIn(ops::kCpuIsas)),
                         fast_path_name);

}  // namespace
}  // namespace ttt::test
