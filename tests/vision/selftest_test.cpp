// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/selftest.h"

#include "core/error.h"
#include "tests/support/paths.h"
#include "vision/model_catalog.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

namespace ttt::test {
namespace {

using vision::CheckedModel;
using vision::ModelSpec;

/// The "key: value" lines of a training configuration.
std::map<std::string, std::string> read_config(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::map<std::string, std::string> values;
  for (std::string line; std::getline(file, line);)
    if (const std::size_t colon = line.find(": "); colon != std::string::npos && line[0] != '#')
      values[line.substr(0, colon)] = line.substr(colon + 2);
  return values;
}

std::array<std::int64_t, vision::kStages> numbers(const std::string& text) {
  std::array<std::int64_t, vision::kStages> result{};
  std::istringstream in(text);
  std::string part;
  for (std::int64_t& number : result)
    if (std::getline(in, part, ',')) number = std::stoll(part);
  return result;
}

ModelSpec spec_of(std::map<std::string, std::string> config) {
  constexpr std::int64_t kClasses = 10;
  if (config["model"] == "vit3")
    return {vision::Vit3Config{.dim = std::stoll(config["dims"]),
                               .depth = std::stoll(config["depths"]),
                               .heads = std::stoll(config["heads"]),
                               .patch = std::stoll(config["patch"]),
                               .classes = kClasses}};
  return {vision::HVit3Config{.dims = numbers(config["dims"]),
                              .depths = numbers(config["depths"]),
                              .heads = numbers(config["heads"]),
                              .classes = kClasses}};
}

CheckedModel model_of(std::string_view name) {
  for (const CheckedModel& model : vision::checked_models())
    if (model.name == name) return model;
  ADD_FAILURE() << "no model " << name;
  return {};
}

TEST(CheckedModels, IncludeTheShippedConfigurations) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "configs")) {
    const auto config = read_config(entry.path());
    // Some configurations are another family's.
    if (!config.contains("model") || config.at("model") == "lvsm") continue;
    const CheckedModel model = model_of(entry.path().stem().string());
    EXPECT_EQ(model.about, spec_of(config).name() + ", " + config.at("size"));
    EXPECT_TRUE(model.quick);
    ++found;
  }
  EXPECT_GE(found, 2);
}

TEST(CheckedModels, IncludeEveryPreset) {
  for (const vision::ModelPreset& preset : vision::model_presets())
    EXPECT_EQ(model_of(preset.name).about.substr(0, preset.name.size() + 1),
              std::string(preset.name) + ",");
}

TEST(CheckedModels, UnknownNamesAreUsageErrors) {
  try {
    vision::check_model("vit3_x", at::kFloat, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_FALSE(error.hint().empty());
  }
}

/// The reference against itself has no error; that a wrong one is found is tested with broken
/// kernels (tests/apps).
TEST(CheckedModels, ReferenceAgreesWithItself) {
  const auto results = vision::check_model("cifar10_vit3", at::kFloat,
                                           {ops::Variant{.backend = ops::Backend::reference}});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_TRUE(results[0].passed()) << results[0].problem;
  EXPECT_EQ(ops::worst(results[0].outputs)->error, 0);
  EXPECT_EQ(ops::worst(results[0].gradients)->error, 0);
}

/// A backend that can't run is a problem, not the end.
TEST(CheckedModels, FailingBackendsAreProblems) {
  const auto results = vision::check_model("cifar10_vit3", at::kHalf,
                                           {ops::Variant{.backend = ops::Backend::cpu},
                                            ops::Variant{.backend = ops::Backend::reference}});
  EXPECT_FALSE(results[0].passed());
  EXPECT_NE(results[0].problem.find("available"), std::string::npos) << results[0].problem;
  EXPECT_TRUE(results[1].passed()) << results[1].problem;
}

}  // namespace
}  // namespace ttt::test
