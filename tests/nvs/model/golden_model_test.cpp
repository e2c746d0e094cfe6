// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The official code on small checkpoints: intermediates, states, pictures.
#include "nvs/model/patches.h"
#include "tests/nvs/model/model_support.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::test {
namespace {

constexpr double kPicture = 5e-5;  // fp32, the golden set's tolerances
constexpr double kState = 1e-4;    // fp32
constexpr double kDouble = 1e-10;  // double against results stored in double
constexpr double kRounded = 2e-6;  // double against results rounded to float, relative to 10
constexpr double kDecibels = 3;    // two bf16 implementations differ as much as each from exact

struct Golden {
  TensorMap tensors;
  nvs::LoadedLvsm loaded;
  std::string folder;

  explicit Golden(const std::string& name)
      : tensors(read_all(shared("golden/nvs/model/" + name + "/case.safetensors"))),
        loaded(nvs::load_lvsm({.weights = shared("golden/nvs/model/" + name + "/model.pt"),
                               .weights_key = {},
                               .config = shared("golden/nvs/model/" + name + "/config.yaml"),
                               .allow_missing = {},
                               .allow_unexpected = {}})) {}

  nvs::CameraTensors cameras(const std::string& prefix) const {
    const at::Tensor& images = tensors.at("in.image");
    return {tensors.at(prefix + ".c2w"), tensors.at(prefix + ".fxfycxcy"), images.size(3),
            images.size(4)};
  }
  nvs::CameraTensors targets(std::int64_t sample, bool other_size) const {
    const at::Tensor& out = tensors.at(other_size ? "f64.render_other_size.out" : "f64.render.out");
    const std::string k = other_size ? "target_other_size.fxfycxcy" : "target.fxfycxcy";
    return {tensors.at("target.c2w")[sample], tensors.at(k)[sample], out.size(3), out.size(4)};
  }
  std::int64_t samples() const { return tensors.at("in.image").size(0); }
};

class GoldenModel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { TTT_REQUIRE_SHARED("golden/nvs/model/" + GetParam()); }
};

TEST_P(GoldenModel, JointPassAndItsIntermediates) {
  const Golden golden(GetParam());
  const torch::NoGradGuard no_grad;
  const auto joint = [&](const nvs::LvsmForwardContext& context) {
    return golden.loaded.model->joint(golden.tensors.at("in.image"), golden.cameras("in"),
                                      golden.cameras("target"), context);
  };
  EXPECT_LE(max_difference(joint({}), golden.tensors.at("f64.joint.out")), kPicture);
  TensorMap trace;
  nvs::LvsmForwardContext context;
  context.trace = [&](const std::string& name, const at::Tensor& value) {
    trace[name] = value.clone();
  };
  golden.loaded.model->to(torch::kDouble);
  EXPECT_LE(max_difference(joint(context), golden.tensors.at("f64.joint.out")), kDouble);
  int compared = 0;
  for (const auto& [name, expected] : golden.tensors) {
    const std::string prefix = "f64.joint.";
    if (!name.starts_with(prefix) || !trace.contains(name.substr(prefix.size()))) continue;
    const at::Tensor& value = trace.at(name.substr(prefix.size()));
    at::Tensor wanted = expected.reshape({value.size(0), -1, value.size(2)});
    // Input tokens are gone where only targets are needed.
    wanted = wanted.narrow(1, wanted.size(1) - value.size(1), value.size(1));
    EXPECT_LE(max_difference(value, wanted), kRounded * 10) << name;
    ++compared;
  }
  EXPECT_GE(compared, GetParam() == "base" ? 11 : 0);
}

TEST_P(GoldenModel, ReconstructAndRender) {
  const Golden golden(GetParam());
  const nvs::LvsmRenderer exact(*golden.loaded.model, {.dtype = at::kDouble});
  const nvs::LvsmRenderer single(*golden.loaded.model, {});
  const std::int64_t heads = golden.tensors.at("f64.state.block0.w0").size(0) / golden.samples();
  for (std::int64_t b = 0; b < golden.samples(); ++b) {
    const nvs::PosedViews views = sample_views(golden.tensors, "in", b);
    const nvs::FastWeightMap state = single.reconstruct(views);
    const nvs::FastWeightMap exact_state = exact.reconstruct(views);
    for (std::int64_t i = 0; i < golden.loaded.model->config().layers; ++i) {
      const std::string name = nvs::sub_layer_name(i, 1);
      for (int w = 0; w < 3; ++w) {
        const auto matrix = [&](const nvs::FastWeightMap& s) {
          const auto& m = s.at(name).weights;
          return (w == 0 ? m.w0 : w == 1 ? m.w1 : m.w2)[0];
        };
        const at::Tensor expected =
            golden.tensors.at("f64.state.block" + std::to_string(i) + ".w" + std::to_string(w))
                .narrow(0, b * heads, heads);
        EXPECT_LE(max_difference(matrix(state), expected), kState) << name << " w" << w;
        EXPECT_LE(max_difference(matrix(exact_state), expected), kRounded) << name << " w" << w;
      }
    }
    for (const bool other : {false, true}) {
      if (other && !golden.tensors.contains("f64.render_other_size.out")) continue;
      const at::Tensor expected =
          golden.tensors.at(other ? "f64.render_other_size.out" : "f64.render.out")[b];
      const nvs::CameraTensors targets = golden.targets(b, other);
      EXPECT_LE(max_difference(single.render(state, targets), expected), kPicture);
      EXPECT_LE(max_difference(exact.render(exact_state, targets), expected), kDouble);
    }
  }
}

TEST_P(GoldenModel, Bfloat16NewtonSchulzIsAsGoodAsTheReferences) {
  const Golden golden(GetParam());
  const nvs::LvsmRenderer renderer(
      *golden.loaded.model, {.backend = ops::Backend::reference, .bf16_newton_schulz = true});
  std::vector<at::Tensor> rendered;
  for (std::int64_t b = 0; b < golden.samples(); ++b)
    rendered.push_back(renderer.render(renderer.reconstruct(sample_views(golden.tensors, "in", b)),
                                       golden.targets(b, false)));
  const at::Tensor& exact = golden.tensors.at("f64.render.out");
  const double ours = psnr_between(at::stack(rendered), exact);
  EXPECT_GE(ours, psnr_between(golden.tensors.at("bf16ns.render.out"), exact) - kDecibels);
  EXPECT_LE(ours, 110) << "--ns-dtype has no effect";
  if (GetParam() == "default_init") {
    EXPECT_GE(ours, 50);
  }
}

TEST_P(GoldenModel, Bfloat16) {
  const Golden golden(GetParam());
  const nvs::LvsmRenderer renderer(*golden.loaded.model,
                                   {.dtype = at::kBFloat16, .bf16_newton_schulz = true});
  std::vector<at::Tensor> rendered;
  for (std::int64_t b = 0; b < golden.samples(); ++b)
    rendered.push_back(renderer.render(renderer.reconstruct(sample_views(golden.tensors, "in", b)),
                                       golden.targets(b, false)));
  const at::Tensor& exact = golden.tensors.at("f64.render.out");
  const double ours = psnr_between(at::stack(rendered), exact);
  RecordProperty("psnr", std::to_string(ours));
  if (GetParam() == "default_init")
    EXPECT_GE(ours, 50);
  else
    EXPECT_GE(ours, psnr_between(golden.tensors.at("bf16ns.render.out"), exact) - 2 * kDecibels);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, GoldenModel,
                         testing::Values("base", "default_init", "small"));

TEST(GoldenModelInput, PosedPictures) {
  TTT_REQUIRE_SHARED("golden/nvs/model/base");
  const Golden golden("base");
  for (const bool target : {false, true}) {
    const at::Tensor& expected =
        golden.tensors.at(target ? "f64.joint.pose_only_target" : "f64.joint.posed_image");
    const nvs::CameraTensors cameras = golden.cameras(target ? "target" : "in");
    const at::Tensor operand = nvs::patch_operand(
        {cameras.c2w.flatten(0, 1), cameras.fxfycxcy.flatten(0, 1), cameras.height, cameras.width},
        target ? at::Tensor() : golden.tensors.at("in.image").flatten(0, 1), 8, at::kDouble);
    const std::int64_t hh = cameras.height / 8, ww = cameras.width / 8;
    const at::Tensor pictures = operand.view({-1, hh, ww, 8, 8, 12})
                                    .permute({0, 5, 1, 3, 2, 4})
                                    .reshape({-1, 12, cameras.height, cameras.width});
    EXPECT_LE(max_difference(pictures.narrow(1, 0, expected.size(2)), expected.flatten(0, 1)),
              5e-7);
    if (target) {
      EXPECT_EQ(pictures.narrow(1, 9, 3).abs().max().item<double>(), 0);
    }
  }
}

}  // namespace
}  // namespace ttt::test
