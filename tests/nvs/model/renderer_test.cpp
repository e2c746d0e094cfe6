// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/cancel.h"
#include "core/error.h"
#include "tests/nvs/model/model_support.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::test {
namespace {

using nvs::LvsmConfig;
using nvs::LvsmRenderer;
using nvs::SubLayerKind;

at::Tensor joint(const nvs::LvsmModel& model, const nvs::PosedViews& views,
                 const nvs::CameraTensors& targets) {
  const torch::NoGradGuard no_grad;
  const auto batched = [](const nvs::CameraTensors& c) {
    return nvs::CameraTensors{c.c2w.unsqueeze(0), c.fxfycxcy.unsqueeze(0), c.height, c.width};
  };
  return model.joint(views.images.unsqueeze(0), batched(views.cameras), batched(targets), {})[0];
}

std::vector<LvsmConfig> variants() {
  std::vector<LvsmConfig> list{small_lvsm()};
  LvsmConfig one = small_lvsm();
  one.layers = 1;
  list.push_back(one);
  LvsmConfig wide = small_lvsm();
  wide.patch_size = 8;
  wide.block[0].use_qk_norm = false;
  wide.block[1].head_dim = 32;
  wide.block[1].inter_multi = 4;
  list.push_back(wide);
  LvsmConfig two = small_lvsm();  // two updates in a block, an MLP in between, attention last
  two.block = {small_lvsm().block[1], small_lvsm().block[2], small_lvsm().block[1],
               small_lvsm().block[0]};
  list.push_back(two);
  LvsmConfig plain = small_lvsm();
  plain.block[1].newton_schulz_steps = 0;
  list.push_back(plain);
  return list;
}

TEST(Renderer, EqualsTheJointPass) {
  for (const LvsmConfig& config : variants()) {
    SCOPED_TRACE(nvs::config_to_json(config));
    const auto model = random_model(config);
    const nvs::PosedViews views = random_views(5, 16, 24);
    const nvs::CameraTensors targets = random_views(3, 16, 24, 9).cameras;
    const LvsmRenderer renderer(*model, {});
    EXPECT_LE(max_difference(renderer.render(renderer.reconstruct(views), targets),
                             joint(*model, views, targets)),
              5e-5);
    model->to(torch::kDouble);
    const LvsmRenderer exact(*model, {.dtype = at::kDouble});
    const nvs::PosedViews wide{
        {views.cameras.c2w.to(at::kDouble), views.cameras.fxfycxcy.to(at::kDouble), 16, 24},
        views.images.to(at::kDouble)};
    EXPECT_LE(max_difference(exact.render(exact.reconstruct(wide), targets),
                             joint(*model, wide, targets)),
              1e-11);
  }
}

TEST(Renderer, TilesChangeRoundingOnly) {
  const auto model = random_model(small_lvsm());
  const nvs::PosedViews views = random_views(5, 16, 24);
  const LvsmRenderer whole(*model, {.tile_tokens = 100000});
  const nvs::FastWeightMap state = whole.reconstruct(views);
  const at::Tensor pictures = whole.render(state, views.cameras);
  for (const std::int64_t tile : {1, 7, 24, 50}) {
    SCOPED_TRACE(tile);
    const LvsmRenderer tiled(*model, {.tile_tokens = tile});
    EXPECT_LE(state_difference(tiled.reconstruct(views), state), 1e-4);
    EXPECT_LE(max_difference(tiled.render(state, views.cameras), pictures), 1e-5);
  }
}

TEST(Renderer, TargetsAreIndependentOfEachOther) {
  const auto model = random_model(small_lvsm());
  const LvsmRenderer renderer(*model, {});
  const nvs::FastWeightMap state = renderer.reconstruct(random_views(4, 16, 24));
  const nvs::CameraTensors targets = random_views(4, 16, 24, 5).cameras;
  const at::Tensor together = renderer.render(state, targets);
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_LE(max_difference(renderer.render(state, targets.narrow(i, 1))[0], together[i]), 2e-6);
  nvs::CameraTensors changed = targets;
  changed.c2w = targets.c2w.clone();
  changed.c2w.select(0, 3).add_(0.1);
  EXPECT_TRUE(at::equal(renderer.render(state, changed).narrow(0, 0, 3), together.narrow(0, 0, 3)));
}

TEST(Renderer, OrderOfInputViewsDoesNotMatter) {
  const auto model = random_model(small_lvsm());
  const LvsmRenderer renderer(*model, {});
  const nvs::PosedViews views = random_views(4, 16, 24);
  const at::Tensor order = at::tensor({2, 0, 3, 1}, at::kLong);
  const nvs::PosedViews permuted{{views.cameras.c2w.index_select(0, order),
                                  views.cameras.fxfycxcy.index_select(0, order), 16, 24},
                                 views.images.index_select(0, order)};
  const nvs::CameraTensors targets = random_views(2, 16, 24, 5).cameras;
  EXPECT_LE(max_difference(renderer.render(renderer.reconstruct(views), targets),
                           renderer.render(renderer.reconstruct(permuted), targets)),
            5e-5);
}

TEST(Renderer, AttentionStaysInItsView) {
  LvsmConfig config = small_lvsm();
  config.layers = 1;
  config.block = {small_lvsm().block[0], small_lvsm().block[1]};
  const auto model = random_model(config);
  // Learned weights alone: then only attention could connect views.
  const LvsmRenderer renderer(*model, {});
  const nvs::CameraTensors targets = random_views(3, 16, 24, 2).cameras;
  const nvs::FastWeightMap initial = renderer.initial_state();
  const at::Tensor together = renderer.render(initial, targets);
  nvs::CameraTensors changed = targets;
  changed.c2w = targets.c2w.clone();
  changed.c2w.select(0, 1).mul_(1.5);
  const at::Tensor after = renderer.render(initial, changed);
  EXPECT_TRUE(at::equal(after[0], together[0]));
  EXPECT_TRUE(at::equal(after[2], together[2]));
  EXPECT_FALSE(at::equal(after[1], together[1]));
}

TEST(Renderer, NormOfTinyQueries) {
  // The epsilon of the attention's norm counts when queries are tiny.
  const at::Tensor x = at::full({1, 4}, 1e-4, at::kDouble);
  const double expected = 1e-4 / std::sqrt(1e-8 + 1.1920928955078125e-07);
  EXPECT_NEAR(nvs::rms_norm(x, {}, nvs::kAttentionNormEpsilon)[0][0].item<double>(), expected,
              1e-15);
}

TEST(Renderer, AnotherResolutionThanTheInputs) {
  const auto model = random_model(small_lvsm());
  const LvsmRenderer renderer(*model, {});
  const nvs::FastWeightMap state = renderer.reconstruct(random_views(4, 16, 24));
  const at::Tensor large = renderer.render(state, random_views(2, 40, 12, 3).cameras);
  EXPECT_EQ(large.sizes(), at::IntArrayRef({2, 3, 40, 12}));
  EXPECT_GE(large.min().item<double>(), 0);
  EXPECT_LE(large.max().item<double>(), 1);
}

TEST(Renderer, AddedViewsStartFromTheState) {
  const auto model = random_model(small_lvsm());
  const LvsmRenderer renderer(*model, {});
  const nvs::PosedViews views = random_views(6, 16, 24);
  const nvs::PosedViews first{views.cameras.narrow(0, 4), views.images.narrow(0, 0, 4)};
  const nvs::PosedViews rest{views.cameras.narrow(4, 2), views.images.narrow(0, 4, 2)};
  const nvs::FastWeightMap state = renderer.reconstruct(first);
  const nvs::FastWeightMap added = renderer.reconstruct(rest, &state);
  EXPECT_GT(state_difference(added, state), 1e-3);
  // The lengths stay those that the scene began with.
  for (const auto& [name, layer] : added)
    EXPECT_TRUE(at::equal(layer.norms.w0, renderer.initial_state().at(name).norms.w0));
}

TEST(Renderer, ReportsSayWhatUpdatesDo) {
  const auto model = random_model(small_lvsm());
  const LvsmRenderer renderer(*model, {});
  std::vector<nvs::FastWeightReport> reports;
  const nvs::PosedViews views = random_views(4, 16, 24);
  const nvs::FastWeightMap state = renderer.reconstruct(views, nullptr, {{}, &reports});
  EXPECT_EQ(state_difference(state, renderer.reconstruct(views)), 0);
  ASSERT_EQ(reports.size(), 2U);
  for (const nvs::FastWeightReport& report : reports) {
    EXPECT_EQ(report.layer.substr(0, 7), "blocks.");
    EXPECT_LT(report.loss_after, report.loss_before);
    EXPECT_GT(report.learning_rate, 0);
    EXPECT_GT(report.gradient_norm, 0);
    EXPECT_GT(report.update_ratio, 0);
    EXPECT_LT(report.update_ratio, 2);
  }
}

TEST(Renderer, ProgressAndInterruption) {
  const auto model = random_model(small_lvsm());
  const LvsmRenderer renderer(*model, {.tile_tokens = 24});
  const nvs::PosedViews views = random_views(4, 16, 24);
  std::int64_t done = 0, total = 0;
  renderer.reconstruct(views, nullptr,
                       {[&](const ProgressReport& report) {
                          done = report.done;
                          total = report.total;
                        },
                        nullptr});
  EXPECT_EQ(done, 2 * 4);
  EXPECT_EQ(total, done);
  request_cancel();
  try {
    renderer.reconstruct(views);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
  }
  reset_cancel();
}

TEST(Renderer, RefusesWhatDoesNotFit) {
  const auto model = random_model(small_lvsm());
  const LvsmRenderer renderer(*model, {});
  const nvs::PosedViews views = random_views(2, 16, 24);
  EXPECT_THROW(renderer.reconstruct({views.cameras, {}}), Error);
  EXPECT_THROW(renderer.reconstruct({views.cameras, views.images.narrow(0, 0, 1)}), Error);
  EXPECT_THROW(renderer.reconstruct(random_views(2, 18, 24)), Error);
  EXPECT_THROW(renderer.render({}, views.cameras), Error);
  EXPECT_THROW(LvsmRenderer(*model, {.dtype = at::kHalf}), Error);
}

TEST(Renderer, ValuesThatAreNoNumbersAreRefused) {
  const auto model = random_model(small_lvsm());
  const LvsmRenderer renderer(*model, {});
  nvs::FastWeightMap state = renderer.initial_state();
  state.begin()->second.weights.w1 = state.begin()->second.weights.w1.clone().fill_(NAN);
  try {
    renderer.render(state, random_views(1, 16, 24).cameras);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::weights) << error.what();
  }
}

TEST(Joint, GradientsReachEveryParameter) {
  const auto model = random_model(small_lvsm());
  model->to(torch::kDouble);
  const nvs::PosedViews views = random_views(3, 8, 8);
  const auto batched = [](const nvs::CameraTensors& c) {
    return nvs::CameraTensors{c.c2w.unsqueeze(0), c.fxfycxcy.unsqueeze(0), c.height, c.width};
  };
  const at::Tensor out =
      model->joint(views.images.narrow(0, 0, 2).to(at::kDouble).unsqueeze(0),
                   batched(views.cameras.narrow(0, 2)), batched(views.cameras.narrow(2, 1)), {});
  out.square().mean().backward();
  for (const auto& item : model->named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_GT(item.value().grad().abs().max().item<double>(), 0) << item.key();
  }
}

}  // namespace
}  // namespace ttt::test
