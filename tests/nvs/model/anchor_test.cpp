// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The published numeric fixture: parameters and pictures from one pseudo-random stream.
#include "nvs/model/patches.h"
#include "tests/nvs/model/model_support.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

namespace ttt::test {
namespace {

class Stream {
 public:
  double next() {
    state_ = 1664525U * state_ + 1013904223U;
    return static_cast<double>(state_) / 4294967296.0;
  }
  /// factor * (u - 0.5) + offset, row by row.
  void fill(at::Tensor tensor, double factor, double offset) {
    const at::Tensor values = at::empty(tensor.sizes(), at::kDouble);
    auto* data = values.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < values.numel(); ++i) data[i] = factor * (next() - 0.5) + offset;
    tensor.copy_(values);
  }

 private:
  std::uint32_t state_ = 1;
};

struct Fixture {
  std::shared_ptr<nvs::LvsmModel> model;
  at::Tensor images;  // [1, 2, 3, 4, 6]
  nvs::CameraTensors inputs, targets;
};

at::Tensor cameras_c2w(int first, int count) {
  const at::Tensor c2w = at::zeros({1, count, 4, 4}, at::kDouble);
  for (int j = 0; j < count; ++j) {
    const double i = first + j, angle = 0.3 * i, c = std::cos(angle), s = std::sin(angle);
    const double rows[16] = {c,  0, s, 0.2 * i,     0, 1, 0, -0.1 * i,
                             -s, 0, c, 0.3 * i - 1, 0, 0, 0, 1};
    std::copy(rows, rows + 16, c2w.mutable_data_ptr<double>() + 16 * j);
  }
  return c2w;
}

Fixture make_fixture() {
  nvs::LvsmConfig config;
  config.patch_size = 2;
  config.dim = 16;
  config.layers = 2;
  config.block = {{.kind = nvs::SubLayerKind::attention, .head_dim = 8},
                  {.kind = nvs::SubLayerKind::fast_weights,
                   .head_dim = 8,
                   .inter_multi = 2,
                   .newton_schulz_steps = 5},
                  {.kind = nvs::SubLayerKind::mlp, .inter_multi = 4}};
  Fixture fixture{std::make_shared<nvs::LvsmModel>(config), {}, {}, {}};
  EXPECT_EQ(config.parameter_count(), 11068);
  fixture.model->to(torch::kDouble);
  const torch::NoGradGuard no_grad;
  Stream stream;
  for (const auto& item : fixture.model->named_parameters()) {
    const std::string& key = item.key();
    if (key.ends_with(".w0") || key.ends_with(".w1") || key.ends_with(".w2"))
      stream.fill(item.value(), 2, 0);
    else if (item.value().dim() == 1 && !key.ends_with("bias"))
      stream.fill(item.value(), 0.2, 1);
    else
      stream.fill(item.value(), 1, 0);
  }
  fixture.images = at::empty({1, 2, 3, 4, 6}, at::kDouble);
  stream.fill(fixture.images, 1, 0.5);
  const at::Tensor k = at::tensor({5.0, 5.5, 3.0, 2.0}, at::kDouble);
  fixture.inputs = {cameras_c2w(0, 2), k.expand({1, 2, 4}), 4, 6};
  fixture.targets = {cameras_c2w(2, 1), k.expand({1, 1, 4}), 4, 6};
  return fixture;
}

void expect_values(const at::Tensor& values, std::initializer_list<double> expected,
                   double tolerance) {
  const at::Tensor flat = values.reshape({-1}).to(at::kDouble);
  ASSERT_EQ(flat.numel(), static_cast<std::int64_t>(expected.size()));
  std::int64_t i = 0;
  for (const double value : expected) EXPECT_NEAR(flat[i++].item<double>(), value, tolerance);
}

void expect_picture(const at::Tensor& picture, double tolerance) {
  ASSERT_EQ(picture.sizes(), at::IntArrayRef({3, 4, 6}));
  EXPECT_NEAR(picture.mean().item<double>(), 0.496970426767, tolerance);
  EXPECT_NEAR(picture.std().item<double>(), 0.257419422677, tolerance);
  const at::Tensor corner = picture.select(1, 0).narrow(1, 0, 3);
  expect_values(corner,
                {0.960381929018, 0.680922207274, 0.952538982439, 0.744200369502, 0.321017196942,
                 0.746501999558, 0.567914217034, 0.447751278811, 0.582024646040},
                tolerance);
  expect_values(picture.select(1, 3).select(1, 5), {0.471345489683, 0.096069669056, 0.705000592492},
                tolerance);
}

void expect_states(const nvs::FastWeightMap& state, double tolerance) {
  const auto& first = state.at("blocks.0.module_list.1").weights;
  expect_values(first.w0[0][0][0].narrow(0, 0, 4),
                {-0.828205056714, 0.301157652711, -0.654087211281, 0.236679047979}, tolerance);
  expect_values(first.w1[0][1][0].narrow(0, 0, 3),
                {0.449031239876, -0.124223861059, 1.201054175909}, tolerance);
  expect_values(state.at("blocks.1.module_list.1").weights.w2[0][1][7].narrow(0, 12, 4),
                {-0.401608231451, -0.448198380485, 0.475448076395, -0.023217486505}, tolerance);
}

TEST(Anchor, Rays) {
  const Fixture fixture = make_fixture();
  const nvs::CameraTensors target{fixture.targets.c2w[0], fixture.targets.fxfycxcy[0], 4, 6};
  const at::Tensor operand = nvs::patch_operand(target, {}, 2, at::kDouble);  // [1, 6, 48]
  expect_values(operand[0][0].narrow(0, 3, 3), {0.132058044951, -0.236985751660, 0.962495935718},
                1e-12);
}

TEST(Anchor, Joint) {
  const Fixture fixture = make_fixture();
  const torch::NoGradGuard no_grad;
  const at::Tensor out = fixture.model->joint(fixture.images, fixture.inputs, fixture.targets, {});
  ASSERT_EQ(out.sizes(), at::IntArrayRef({1, 1, 3, 4, 6}));
  expect_picture(out[0][0], 2e-12);
}

TEST(Anchor, ReconstructAndRender) {
  const Fixture fixture = make_fixture();
  const nvs::PosedViews views{{fixture.inputs.c2w[0], fixture.inputs.fxfycxcy[0], 4, 6},
                              fixture.images[0]};
  const nvs::CameraTensors target{fixture.targets.c2w[0], fixture.targets.fxfycxcy[0], 4, 6};
  for (const std::int64_t tile : {1, 5, 6, 100}) {
    const nvs::LvsmRenderer exact(*fixture.model, {.dtype = at::kDouble, .tile_tokens = tile});
    const nvs::FastWeightMap state = exact.reconstruct(views);
    expect_states(state, 2e-12);
    expect_picture(exact.render(state, target)[0], 2e-12);
  }
  const nvs::LvsmRenderer single(*fixture.model, {});
  const nvs::FastWeightMap state = single.reconstruct(views);
  expect_states(state, 1e-5);
  expect_picture(single.render(state, target)[0], 5e-6);
}

}  // namespace
}  // namespace ttt::test
