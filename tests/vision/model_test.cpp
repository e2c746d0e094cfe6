// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Properties of the models that need no golden: sizes, batches, the update's switch, precision.
#include "core/error.h"
#include "layers/holders.h"
#include "tests/support/compare.h"
#include "tests/support/fill.h"
#include "tests/vision/model_support.h"

#include <torch/torch.h>

namespace ttt::test {
namespace {

using vision::HVit3Config;
using vision::ModelSpec;
using vision::Vit3Config;

const ModelSpec kVit3{Vit3Config{.dim = 32, .depth = 2, .heads = 2, .patch = 8, .classes = 5}};
const ModelSpec kHVit3{HVit3Config{
    .dims = {16, 32, 48, 64}, .depths = {1, 1, 2, 1}, .heads = {1, 2, 3, 2}, .classes = 5}};

class SmallModel : public testing::TestWithParam<ModelSpec> {};

TEST_P(SmallModel, ResultsDoNotDependOnTheBatch) {
  const auto model = filled_model(GetParam());
  const at::Tensor images = fill("img", {3, 3, 64, 64});
  const at::Tensor together = run_traced(*model, images).output.logits;
  for (std::int64_t i = 0; i < 3; ++i) {
    const at::Tensor alone = run_traced(*model, images.narrow(0, i, 1)).output.logits;
    EXPECT_LE(relative_to_max(alone, together.narrow(0, i, 1)), 1e-5) << i;
  }
}

TEST_P(SmallModel, AnyAspectRatioRunsOnItsOwnGrid) {
  const auto model = filled_model(GetParam());
  for (const auto& [height, width] : {std::pair{32, 128}, {128, 32}, {96, 64}}) {
    const at::Tensor images = fill("img", {1, 3, height, width});
    const auto fast = run_traced(*model, images).output.logits;
    const auto slow = run_traced(*model, images, ops::Backend::reference).output.logits;
    EXPECT_LE(relative_to_max(fast, slow), 1e-5) << width << "x" << height;
    // A transposed picture must not give the same scores: that would be a grid mix-up.
    const auto turned = run_traced(*model, images.transpose(2, 3).contiguous()).output.logits;
    EXPECT_GT(relative_to_max(turned, fast), 1e-3) << width << "x" << height;
  }
}

TEST_P(SmallModel, PackedWeightsGiveTheSameScores) {
  const auto model = filled_model(GetParam());
  const auto packed = filled_model(GetParam());
  layers::pack_for_inference(*packed);
  const c10::InferenceMode inference;
  for (const auto& [batch, height, width] :
       {std::tuple{3, 64, 64}, {1, 32, 512}, {2, 160, 96}, {1, 544, 544}}) {
    const at::Tensor images = fill("img", {batch, 3, height, width}), given = images.clone();
    const at::Tensor expected = model->forward(images, {}).logits;
    EXPECT_LE(relative_to_max(packed->forward(images, {}).logits, expected), 1e-5)
        << batch << "x" << height << "x" << width;
    const at::Tensor strided = images.transpose(2, 3).contiguous().transpose(2, 3);
    EXPECT_LE(relative_to_max(packed->forward(strided, {}).logits, expected), 1e-5);
    EXPECT_TRUE(images.equal(given)) << "the pictures were written to";
    EXPECT_LE(relative_to_max(run_traced(*packed, images).output.logits, expected), 1e-5);
  }
}

TEST_P(SmallModel, ABfloat16ModelTakesFloatPictures) {
  const auto model = filled_model(GetParam());
  model->to(at::kBFloat16);
  layers::pack_for_inference(*model);
  const c10::InferenceMode inference;
  const at::Tensor images = fill("img", {2, 3, 64, 96});
  const at::Tensor converted = model->forward(images.to(at::kBFloat16), {}).logits;
  EXPECT_TRUE(model->forward(images, {}).logits.equal(converted));
}

TEST_P(SmallModel, IllegalSizesAreRefusedWithTheNearest) {
  const auto model = filled_model(GetParam());
  try {
    run_traced(*model, fill("img", {1, 3, 64, 70}));
    FAIL() << "70x64 was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.hint().find("x64"), std::string::npos) << error.hint();
  }
}

TEST_P(SmallModel, UpdateCanBeSwitchedOff) {
  const auto model = filled_model(GetParam());
  const c10::InferenceMode inference;
  const at::Tensor images = fill("img", {2, 3, 64, 64});
  std::vector<vision::InnerStepReport> on, off;
  const auto with = model->forward(images, {.reports = &on}).logits;
  const auto without = model->forward(images, {.inner_update = false, .reports = &off}).logits;
  EXPECT_GT(relative_to_max(without, with), 1e-3);
  ASSERT_EQ(on.size(), off.size());
  for (std::size_t i = 0; i < on.size(); ++i) {
    EXPECT_EQ(on[i].steps, 1);
    EXPECT_EQ(off[i].steps, 0);
    ASSERT_EQ(on[i].models.size(), 2U);
    for (std::size_t m = 0; m < 2; ++m) {
      const auto &stepped = on[i].models[m], &kept = off[i].models[m];
      EXPECT_EQ(stepped.model, m == 0 ? "gated_linear" : "depthwise");
      EXPECT_LT(stepped.loss_after, stepped.loss_before) << on[i].layer;
      EXPECT_GT(stepped.gradient_norm, 0);
      EXPECT_EQ(kept.loss_after, kept.loss_before);
      EXPECT_EQ(kept.update_ratio, 0);
    }
  }
}

TEST_P(SmallModel, HalfWidthTypesStayClose) {
  const auto model = filled_model(GetParam());
  const at::Tensor images = fill("img", {2, 3, 64, 64});
  const at::Tensor exact = run_traced(*model, images).output.logits;
  model->to(torch::kBFloat16);
  const auto rounded = run_traced(*model, images.to(torch::kBFloat16)).output.logits;
  EXPECT_EQ(rounded.scalar_type(), torch::kBFloat16);
  // bf16 keeps 8 bits; what a few layers of random weights make of that rounding.
  EXPECT_LE(relative_to_max(rounded, exact), 0.08);
}

TEST_P(SmallModel, GradientsReachEveryParameter) {
  const auto model = filled_model(GetParam());
  const auto output = model->forward(fill("img", {2, 3, 64, 64}), {});
  output.logits.square().sum().backward();
  for (const auto& parameter : model->named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_GT(parameter.value().grad().abs().max().item<double>(), 0) << parameter.key();
  }
}

TEST_P(SmallModel, InitialisationIsReproducible) {
  const auto a = GetParam().build(), b = GetParam().build(), c = GetParam().build();
  a->initialize(7);
  b->initialize(7);
  c->initialize(8);
  const auto first = a->named_parameters();
  for (const auto& parameter : b->named_parameters())
    EXPECT_TRUE(parameter.value().equal(first[parameter.key()])) << parameter.key();
  EXPECT_FALSE(c->named_parameters()["head.weight"].equal(first["head.weight"]));
  const at::Tensor& head = first["head.weight"];
  EXPECT_NEAR(head.std().item<double>(), 0.02, 0.005);
}

INSTANTIATE_TEST_SUITE_P(Families, SmallModel, testing::Values(kVit3, kHVit3),
                         [](const auto& test) { return std::string(test.param.family()); });

}  // namespace
}  // namespace ttt::test
