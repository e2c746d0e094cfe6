// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/weight_tools/inspect.h"

#include "core/error.h"
#include "core/weights/safetensors_writer.h"
#include "tests/support/paths.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace ttt::cli {
namespace {

std::string inspect(InspectOptions options) {
  std::ostringstream output;
  run_inspect(options, output);
  return output.str();
}

TEST(Inspect, JsonDescribesASafetensorsFile) {
  const test::TempDir folder;
  write_safetensors(
      folder / "w.safetensors",
      std::vector<NamedTensor>{{"w", at::ones({2, 3})}, {"n", at::ones({}, at::kLong)}},
      {{"size", "64"}});
  InspectOptions options{folder / "w.safetensors", "", InspectFormat::json, {}};
  options.recognise = [](const WeightFile& file) {
    return file.tensors().size() == 2 ? "vit3_t" : "";
  };
  const auto document = nlohmann::json::parse(inspect(options));
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["container"], "safetensors");
  EXPECT_EQ(document["model"], "vit3_t");
  EXPECT_EQ(document["parameters"], 7);
  EXPECT_EQ(document["metadata"]["size"], "64");
  EXPECT_EQ(document["sha256"].get<std::string>().size(), 64U);
  EXPECT_EQ(document["bytes"], std::filesystem::file_size(folder / "w.safetensors"));
  ASSERT_EQ(document["tensors"].size(), 2U);
  EXPECT_EQ(document["tensors"][1],
            nlohmann::json::parse(R"({"name":"w","shape":[2,3],"dtype":"float32","bytes":24})"));
  options.recognise = {};
  EXPECT_TRUE(nlohmann::json::parse(inspect(options))["model"].is_null());
}

TEST(Inspect, CheckpointShowsDictionariesAndSkippedObjects) {
  TTT_REQUIRE_SHARED("golden/vision/hvit3_micro.pth");
  InspectOptions options{
      test::shared("golden/vision/hvit3_micro.pth"), "", InspectFormat::json, {}};
  const auto document = nlohmann::json::parse(inspect(options));
  EXPECT_EQ(document["container"], "torch-zip");
  EXPECT_EQ(document["weights_key"], "state_dict_ema");
  EXPECT_EQ(document["available_keys"], nlohmann::json::parse(R"(["model","state_dict_ema"])"));
  const auto skipped = document["skipped"].get<std::vector<std::string>>();
  const auto has = [&](const std::string& line) {
    return std::find(skipped.begin(), skipped.end(), line) != skipped.end();
  };
  EXPECT_TRUE(has("config: yacs.config.CfgNode"));
  EXPECT_TRUE(has("optimizer: dict"));
  EXPECT_TRUE(has("epoch: int"));
  options.format = InspectFormat::text;
  options.weights_key = "model";
  const std::string text = inspect(options);
  EXPECT_NE(text.find("dictionary  \"model\""), std::string::npos) << text;
  EXPECT_NE(text.find("also has  \"state_dict_ema\""), std::string::npos);
  EXPECT_NE(text.find("skipped     config: yacs.config.CfgNode"), std::string::npos);
  EXPECT_NE(text.find("model       not recognised"), std::string::npos);
  EXPECT_NE(text.find("\npatch_embed.conv.0.conv.weight"), std::string::npos) << text;
}

TEST(Inspect, UnknownDictionaryListsThoseThereAre) {
  TTT_REQUIRE_SHARED("golden/vision/hvit3_micro.pth");
  try {
    inspect({test::shared("golden/vision/hvit3_micro.pth"), "emma", InspectFormat::text, {}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::weights);
    EXPECT_NE(error.hint().find("\"model\", \"state_dict_ema\""), std::string::npos);
  }
}

}  // namespace
}  // namespace ttt::cli
