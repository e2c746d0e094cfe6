// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The trained micro model on the official script's inputs.
#include "nvs/output/metrics.h"
#include "tests/nvs/model/model_support.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include <fstream>

namespace ttt::test {
namespace {

constexpr double kTrainedPicture = 1e-4;
constexpr double kTrainedState = 1e-4;

class GoldenEndToEnd : public testing::TestWithParam<std::string> {};

TEST_P(GoldenEndToEnd, EverySampleMatches) {
  TTT_REQUIRE_SHARED("golden/nvs/e2e/" + GetParam());
  const std::string folder = shared("golden/nvs/e2e/" + GetParam());
  const TensorMap golden = read_all(folder + "/expected.safetensors");
  std::ifstream file(folder + "/expected.json");
  const auto expected = nlohmann::json::parse(file);
  // No configuration: what shapes can't tell are the published values.
  const nvs::LoadedLvsm loaded =
      nvs::load_lvsm({shared("golden/nvs/e2e/model.pt"), {}, {}, {}, {}});
  const nvs::LvsmRenderer renderer(*loaded.model, {});
  int sample = 0;
  for (const auto& described : expected["samples"]) {
    const std::string name = "sample" + std::to_string(sample++) + ".";
    const at::Tensor& images = golden.at(name + "in.image");
    const auto cameras = [&](const std::string& kind) {
      return nvs::CameraTensors{golden.at(name + kind + ".c2w"),
                                golden.at(name + kind + ".fxfycxcy"), images.size(2),
                                images.size(3)};
    };
    const nvs::FastWeightMap state = renderer.reconstruct({cameras("in"), images});
    const at::Tensor rendered = renderer.render(state, cameras("target"));
    EXPECT_LE(max_difference(rendered, golden.at(name + "f64.rendered")), kTrainedPicture);
    const double psnr =
        psnr_between(rendered, golden.at(name + "target.image").to(at::kDouble) / 255);
    EXPECT_NEAR(psnr, described["psnr_f64"].get<double>(), 1e-4);
    const nvs::CameraTensors path = cameras("trajectory");
    std::vector<at::Tensor> c2w, k;
    for (const auto& frame : described["trajectory_frames_rendered"]) {
      c2w.push_back(path.c2w[frame.get<std::int64_t>()]);
      k.push_back(path.fxfycxcy[frame.get<std::int64_t>()]);
    }
    const at::Tensor frames =
        renderer.render(state, {at::stack(c2w), at::stack(k), path.height, path.width});
    EXPECT_LE(max_difference(frames, golden.at(name + "f64.trajectory_rendered")), kTrainedPicture);
    for (std::int64_t i = 0; i < 3 && sample == 1; ++i) {
      const auto& weights = state.at(nvs::sub_layer_name(i, 1)).weights;
      const std::string block = name + "f64.state.block" + std::to_string(i) + ".w";
      EXPECT_LE(max_difference(weights.w0[0], golden.at(block + "0")), kTrainedState);
      EXPECT_LE(max_difference(weights.w1[0], golden.at(block + "1")), kTrainedState);
      EXPECT_LE(max_difference(weights.w2[0], golden.at(block + "2")), kTrainedState);
    }
  }
  EXPECT_GE(sample, 1);
}

INSTANTIATE_TEST_SUITE_P(Runs, GoldenEndToEnd, testing::Values("gso64", "scene32x48"));

}  // namespace
}  // namespace ttt::test
