// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/weights/safetensors_writer.h"
#include "layers/module_weights.h"
#include "tests/support/paths.h"
#include "vision/classification_model.h"
#include "vision/classifier.h"
#include "vision/model_catalog.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

namespace ttt::test {
namespace {

using vision::InnerConfig;
using vision::InnerModelKind;
using vision::InnerSettings;

/// Message and hint of the error that the call must throw.
template <typename Call>
std::string error_of(ErrorKind kind, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return std::string(error.what()) + " | " + error.hint();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in: " << text;
}

TEST(InnerConfig, SettingsAndBack) {
  EXPECT_TRUE(vision::parse_inner({}).is_published());
  const InnerSettings settings{"mlp2", 3, "smooth_l1", "N/4", 2, 0.25, "dynamic", "none"};
  const InnerConfig config = vision::parse_inner(settings);
  EXPECT_EQ(config.batches, 4);
  EXPECT_EQ(config.steps(), 8);
  EXPECT_EQ(vision::parse_inner(vision::settings_of(config)), config);
  EXPECT_EQ(describe(config),
            "mlp2, width 3, loss smooth_l1, batch N/4, epochs 2, lr 0.25, lr_rule dynamic, "
            "clip none");
  EXPECT_EQ(describe(InnerConfig{}), "vit3");
}

TEST(InnerConfig, NonsenseIsRefusedByName) {
  const auto refused = [](const InnerSettings& settings) {
    return error_of(ErrorKind::usage, [&] { vision::parse_inner(settings); });
  };
  expect_parts(refused({.model = "gated_liner"}), {"gated_liner", "inner.model", "gated_linear?"});
  expect_parts(refused({.loss = "l1"}), {"\"l1\"", "inner.loss", "allowed: dot"});
  expect_parts(refused({.clip = "colum"}), {"inner.clip", "column"});
  expect_parts(refused({.lr_rule = "dynamik"}), {"inner.lr_rule", "dynamic?"});
  expect_parts(refused({.width = 2}), {"vit3", "inner.width", "mlp2"});
  expect_parts(refused({.model = "conv", .width = 2}), {"no hidden layer", "conv"});
  expect_parts(refused({.model = "mlp2", .width = 0}), {"inner.width"});
  expect_parts(refused({.epochs = 0}), {"inner.epochs"});
  expect_parts(refused({.epochs = 100000}), {"inner.epochs"});
  expect_parts(refused({.lr = -1}), {"inner.lr"});
  expect_parts(refused({.lr = NAN}), {"inner.lr"});
  for (const char* batch : {"", "half", "N/", "N/0", "N/-2", "N/2x", "N/99999999999999999999",
                            "N/1.5", "n/2", "16", "N/1025"})
    expect_parts(refused({.batch = batch}), {"inner.batch", "N/2"});
}

TEST(InnerConfig, MetadataRoundTrip) {
  const InnerConfig config{.model = InnerModelKind::swiglu, .width = 2, .learning_rate = 0.1};
  const auto stored = vision::read_inner_metadata(vision::inner_metadata({config, {2, 4}}), "file");
  EXPECT_EQ(stored.config, config);
  EXPECT_EQ(stored.heads, (std::vector<std::int64_t>{2, 4}));
}

TEST(InnerConfig, MetadataMustBeCompleteAndSound) {
  const std::string good = vision::inner_metadata({{.model = InnerModelKind::linear}, {2}});
  const auto changed = [&](const std::string& part, const std::string& by) {
    std::string text = good;
    const std::size_t at = text.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    text.replace(at, part.size(), by);
    return error_of(ErrorKind::weights, [&] { vision::read_inner_metadata(text, "w.file"); });
  };
  expect_parts(changed("linear", "liner"), {"ttt.inner", "liner", "w.file", "linear"});
  expect_parts(changed("\"loss\"", "\"lost\""), {"lost", "did you mean loss?"});
  expect_parts(changed("\"width\":1,", ""), {"width"});
  expect_parts(changed("\"width\":1", "\"width\":3"), {"hidden layer"});
  expect_parts(changed("\"epochs\":1", "\"epochs\":\"one\""), {"ttt.inner"});
  expect_parts(changed("\"epochs\":1", "\"epochs\":-1"), {"epochs"});
  for (const char* number :
       {"0", "-1", "65537", "1e30", "2.5", "true", "\"2\"", "[2]", "18446744073709551615"})
    expect_parts(changed("[2]", fmt::format("[{}]", number)), {"heads", "whole number"});
  for (const char* number : {"0", "17", "1e30", "1.5", "true", "18446744073709551615"})
    expect_parts(changed("\"width\":1", fmt::format("\"width\":{}", number)), {"width"});
  expect_parts(changed("\"lr\":1.0", "\"lr\":true"), {"lr"});
  expect_parts(changed("[2]", "2"), {"ttt.inner"});
  expect_parts(changed("{", "["), {"ttt.inner"});
  expect_parts(changed("\"lr\":1.0", "\"lr\":1e999"), {"ttt.inner"});
  for (const char* text : {"", "null", "3", "[]", "{}", "\xff\xfe"})
    error_of(ErrorKind::weights, [&] { vision::read_inner_metadata(text, "w"); });
}

vision::ModelSpec hierarchical(const InnerConfig& inner) {
  return {vision::HVit3Config{.dims = {8, 8, 12, 16},
                              .depths = {1, 1, 1, 1},
                              .heads = {1, 2, 3, 2},
                              .classes = 3,
                              .inner = inner}};
}

vision::ModelSpec plain(const InnerConfig& inner) {
  return {vision::Vit3Config{
      .dim = 12, .depth = 2, .heads = 3, .patch = 4, .classes = 3, .inner = inner}};
}

void write_model(const vision::ModelSpec& spec, const std::filesystem::path& path,
                 const vision::Metadata& metadata) {
  const auto model = spec.build();
  model->initialize(1);
  std::vector<NamedTensor> tensors;
  for (const ParameterSlot& slot : layers::parameter_slots(*model))
    tensors.push_back({slot.name, slot.destination});
  write_safetensors(path, tensors, metadata);
}

// Every model, in both families: the file alone rebuilds it, with its number of heads.
TEST(InnerConfig, WeightFilesRebuildTheModel) {
  const TempDir folder;
  for (std::size_t i = 0; i < vision::inner_model_names().size(); ++i)
    for (const auto& make : {plain, hierarchical}) {
      const vision::ModelSpec spec = make({.model = static_cast<InnerModelKind>(i),
                                           .loss = vision::InnerLoss::mse,
                                           .batches = 2,
                                           .rate_rule = vision::InnerRateRule::dynamic});
      write_model(spec, folder / "w.safetensors", spec.metadata());
      const auto classifier = vision::Classifier::load({.weights = folder / "w.safetensors"});
      EXPECT_EQ(classifier.spec().config, spec.config) << spec.name();
      const auto output = classifier.run(at::ones({1, 3, 32, 32}));
      EXPECT_TRUE(output.logits.isfinite().all().item<bool>());
    }
  EXPECT_TRUE(plain({}).metadata().empty());
}

TEST(InnerConfig, ContradictoryFilesAreRefused) {
  const TempDir folder;
  const InnerConfig inner{.model = InnerModelKind::depthwise};
  const auto refused = [&](const vision::ModelSpec& written, const vision::Metadata& metadata) {
    write_model(written, folder / "w.safetensors", metadata);
    return error_of(ErrorKind::weights,
                    [&] { vision::Classifier::load({.weights = folder / "w.safetensors"}); });
  };
  // The metadata of another model, of another number of heads or stages; and none at all.
  expect_parts(refused(plain(inner), plain({.model = InnerModelKind::conv}).metadata()), {"w3"});
  vision::ModelSpec wrong_heads = plain(inner);
  std::get<vision::Vit3Config>(wrong_heads.config).heads = 5;
  expect_parts(refused(plain(inner), wrong_heads.metadata()), {"5 heads", "12 channels"});
  expect_parts(refused(plain(inner), hierarchical(inner).metadata()), {"1,2,3,2 heads"});
  expect_parts(refused(hierarchical(inner), plain(inner).metadata()), {"w.safetensors"});
  expect_parts(refused(plain(inner), {}), {"w.safetensors"});
  expect_parts(refused(plain({.model = InnerModelKind::mlp2}), {}), {"w.safetensors"});
}

// A preset's name must not bring back the published inner training.
TEST(InnerConfig, TheFileHasTheWordOverThePreset) {
  const TempDir folder;
  vision::ModelSpec spec = vision::find_preset("vit3_t").spec;
  spec.set_inner({.loss = vision::InnerLoss::mse});
  write_model(spec, folder / "w.safetensors", spec.metadata());
  const auto classifier =
      vision::Classifier::load({.weights = folder / "w.safetensors", .model = "vit3_t"});
  EXPECT_EQ(classifier.spec().inner().loss, vision::InnerLoss::mse);
}

}  // namespace
}  // namespace ttt::test
