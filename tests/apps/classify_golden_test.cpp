// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The official loader's and models' results, through the program.
#include "tests/apps/run_program.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

namespace ttt::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// As in the library's own test: random classifiers amplify single pixels.
constexpr double kProbability = 1e-4;
constexpr double kLogit = 3e-4;

std::string picture_path(const std::string& name) {
  const auto made = shared("golden/vision/images/" + name);
  return fs::exists(made) ? made : shared("data/imagenet-samples/" + name);
}

void compare(const Json& row, const Json& expected) {
  SCOPED_TRACE(expected["image"].get<std::string>());
  ASSERT_EQ(row["status"], "ok") << row;
  for (std::size_t k = 0; k < expected["top5"].size(); ++k)
    EXPECT_NEAR(row["topk"][k]["prob"].get<double>(), expected["top5"][k][1].get<double>(),
                kProbability);
  EXPECT_EQ(row["topk"][0]["index"], expected["top5"][0][0]);
  const Json& logits = expected["logits"];
  ASSERT_EQ(row["logits"].size(), logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    EXPECT_NEAR(row["logits"][i].get<double>(), logits[i].get<double>(), kLogit);
}

TEST(ClassifyGolden, FilesToScores) {
  TTT_REQUIRE_SHARED("golden/vision/e2e_classify.json");
  TTT_REQUIRE_SHARED("data/imagenet-samples");
  std::map<std::tuple<std::string, std::string, int>, std::vector<Json>> groups;
  for (const Json& entry : Json::parse(read_text_file(shared("golden/vision/e2e_classify.json"))))
    groups[{entry["weights"], entry["state"], entry["img_size"]}].push_back(entry);
  ASSERT_FALSE(groups.empty());
  for (const auto& [key, entries] : groups) {
    const auto& [weights, state, size] = key;
    SCOPED_TRACE(weights + " " + state);
    std::vector<std::string> arguments{
        "classify",      "--format", "jsonl",     "--preset",
        "official",      "--logits", "--weights", shared("golden/vision/" + weights),
        "--weights-key", state,      "--size",    std::to_string(size)};
    for (const Json& entry : entries) arguments.push_back(picture_path(entry["image"]));
    const ProgramResult result = run_ttt(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    const auto rows = result.json_lines();
    ASSERT_EQ(rows.size(), entries.size() + 1);
    for (std::size_t i = 0; i < entries.size(); ++i) compare(rows[i], entries[i]);
  }
}

TEST(ClassifyGolden, AccuracyOverAnArchive) {
  TTT_REQUIRE_SHARED("golden/vision/cifar/vit3_cifar.pth");
  TTT_REQUIRE_SHARED("data/cifar10.tar");
  const ProgramResult result =
      run_ttt({"classify", shared("data/cifar10.tar"), "--weights",
               shared("golden/vision/cifar/vit3_cifar.pth"), "--size", "32", "--crop-pct", "1",
               "--decode", "official", "--batch", "100", "--format", "jsonl"});
  EXPECT_EQ(result.code, 0) << result.err;
  const auto rows = result.json_lines();
  ASSERT_EQ(rows.size(), 10001U);  // the test split, and the summary
  const Json golden = Json::parse(read_text_file(shared("golden/vision/cifar/vit3_cifar.json")));
  const Json& accuracy = rows.back()["accuracy"];
  EXPECT_EQ(accuracy["count"], 10000);
  // The golden rates went through float32.
  EXPECT_NEAR(accuracy["top1"].get<double>(), golden["accuracy"]["top1"].get<double>(), 1e-7);
  EXPECT_NEAR(accuracy["top5"].get<double>(), golden["accuracy"]["top5"].get<double>(), 1e-7);
  EXPECT_EQ(accuracy["confusion"], golden["confusion_rows_are_truth"]);
}

}  // namespace
}  // namespace ttt::test
