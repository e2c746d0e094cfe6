// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// State-dict keys and shapes of the published models, and recognition from them.
#include "core/error.h"
#include "layers/module_weights.h"
#include "tests/support/paths.h"
#include "tests/vision/model_support.h"
#include "vision/operation_count.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace ttt::test {
namespace {

/// "192x3x16x16" or "scalar".
std::vector<std::int64_t> parse_shape(const std::string& text) {
  std::vector<std::int64_t> shape;
  std::istringstream in(text);
  for (std::string part; text != "scalar" && std::getline(in, part, 'x');)
    shape.push_back(std::stoll(part));
  return shape;
}

std::vector<TensorInfo> read_keys(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<TensorInfo> tensors;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    TensorInfo info;
    std::string shape;
    words >> info.name >> shape;
    info.shape = parse_shape(shape);
    tensors.push_back(info);
  }
  return tensors;
}

// Multiply-adds at 224x224 that the official repository states, in units of 1e9.
TEST(OperationCount, IsThatOfThePublishedModels) {
  const std::map<std::string, double> published{{"vit3_t", 1.22},  {"vit3_s", 4.81},
                                                {"vit3_b", 17.94}, {"hvit3_t", 4.91},
                                                {"hvit3_s", 8.74}, {"hvit3_b", 16.69}};
  for (const auto& [name, billions] : published) {
    const vision::ModelSpec& spec = vision::find_preset(name).spec;
    EXPECT_NEAR(vision::count_operations(spec, 224, 224).value() / 2e9, billions, 0.006) << name;
    // Linear in the pixels but for the classifier.
    const double at_448 = vision::count_operations(spec, 448, 448).value();
    EXPECT_NEAR(at_448 / vision::count_operations(spec, 224, 224).value(), 4, 0.01) << name;
  }
}

TEST(OperationCount, IsUnknownForOtherInnerModels) {
  vision::ModelSpec spec = vision::find_preset("vit3_t").spec;
  vision::InnerConfig inner;
  inner.epochs = 2;
  spec.set_inner(inner);
  EXPECT_FALSE(vision::count_operations(spec, 224, 224));
}

class PublishedKeys : public testing::TestWithParam<std::string> {};

TEST_P(PublishedKeys, AreThoseOfTheModel) {
  const vision::ModelPreset& preset = vision::find_preset(GetParam());
  const std::string file = "golden/vision/keys/" + std::string(preset.official_name) + ".txt";
  TTT_REQUIRE_SHARED(file);
  std::map<std::string, std::vector<std::int64_t>> expected;
  const std::vector<TensorInfo> keys = read_keys(shared(file));
  for (const TensorInfo& info : keys)
    if (!info.name.ends_with("rope.rotations")) expected[info.name] = info.shape;
  std::map<std::string, std::vector<std::int64_t>> actual;
  for (const ParameterSlot& slot : layers::parameter_slots(*preset.spec.build()))
    actual[slot.name] = slot.destination.sizes().vec();
  EXPECT_EQ(actual, expected);

  const auto recognized = vision::recognize_model({keys});
  ASSERT_TRUE(recognized);
  EXPECT_EQ(recognized->name(), preset.name);
  EXPECT_EQ(recognized->config, preset.spec.config);
}

INSTANTIATE_TEST_SUITE_P(Models, PublishedKeys,
                         testing::Values("vit3_t", "vit3_s", "vit3_b", "hvit3_t", "hvit3_s",
                                         "hvit3_b"));

TEST(Catalog, OtherFamiliesAreNotTakenForClassifiers) {
  for (const char* name : {"DiTTT-S-2", "sd_vae_diffusers"}) {
    const std::string file = std::string("golden/vision/keys/") + name + ".txt";
    TTT_REQUIRE_SHARED(file);
    EXPECT_FALSE(vision::recognize_model({read_keys(shared(file))})) << name;
  }
  EXPECT_EQ(vision::describe_weights({read_keys(shared("golden/vision/keys/DiTTT-S-2.txt"))}),
            "dit3 (dim 384, depth 12, heads 6, patch 2, 1000 classes)");
  EXPECT_EQ(
      vision::describe_weights({read_keys(shared("golden/vision/keys/sd_vae_diffusers.txt"))}),
      "vae");
  EXPECT_FALSE(vision::recognize_model({}));
  EXPECT_EQ(vision::describe_weights({}), "");
}

TEST(Catalog, AMissingTensorDoesNotHideTheModel) {
  TTT_REQUIRE_SHARED("golden/vision/keys/h_vittt_small.txt");
  auto keys = read_keys(shared("golden/vision/keys/h_vittt_small.txt"));
  std::erase_if(keys,
                [](const TensorInfo& t) { return t.name == "layers.0.blocks.0.norm1.weight"; });
  const auto recognized = vision::recognize_model({keys});
  ASSERT_TRUE(recognized);
  EXPECT_EQ(recognized->name(), "hvit3_s");
}

TEST(Catalog, FineTunedHeadKeepsTheName) {
  vision::ModelSpec spec = vision::find_preset("vit3_s").spec;
  spec.set_classes(10);
  EXPECT_EQ(spec.name(), "vit3_s");
  const vision::ModelSpec small{vision::Vit3Config{.dim = 48, .depth = 2, .heads = 3, .patch = 8}};
  EXPECT_EQ(small.name(), "vit3 (dim 48, depth 2, heads 3, patch 8, 1000 classes)");
}

TEST(Catalog, UnknownNamesAndBadDimensionsAreUsageErrors) {
  const auto kind_of = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::internal;
  };
  EXPECT_EQ(kind_of([] { vision::find_preset("vit3_x"); }), ErrorKind::usage);
  EXPECT_EQ(kind_of([] { vision::make_vit3({.dim = 100, .heads = 3}); }), ErrorKind::usage);
  EXPECT_EQ(kind_of([] { vision::make_hvit3({.dims = {64, 0, 320, 512}}); }), ErrorKind::usage);
}

}  // namespace
}  // namespace ttt::test
