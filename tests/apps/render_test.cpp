// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/render_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace ttt::test {
namespace {

namespace fs = std::filesystem;
using Arguments = RenderBench::Arguments;
using Json = nlohmann::json;

const RenderBench& bench() {
  return render_bench();
}

TEST(Render, UnreadableInputsAreLeftOutAndCounted) {
  // The picture of view 1 is missing (its frame is unusable), that of view 2 is damaged.
  const auto rows = bench().rows({"holes", "--input-views", "0,2,4", "--target-views", "3,5", "-o",
                                  "holes_out", "--overwrite"},
                                 4);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2]["counts"]["unreadable_pictures"], 2);
  EXPECT_EQ(rows[2]["scenes"][0]["input_views"], 2);
  expect_error(bench().run({"holes", "-w", "tiny.safetensors", "--size", "32x24", "--input-views",
                            "2", "--target-views", "3", "-o", "x"}),
               4, "no input view");
  // A target without a picture is rendered all the same.
  const auto targets = bench().rows(
      {"holes", "--input-views", "0,4", "--target-views", "2,3", "-o", "holes_out2", "--overwrite"},
      4);
  EXPECT_FALSE(targets[0].contains("psnr"));
  EXPECT_TRUE(targets[1].contains("psnr"));
  EXPECT_TRUE(fs::exists(bench() / "holes_out2/0000.png"));
}

TEST(Render, SeveralScenesKeepTheirOrderAndTheirFiles) {
  const auto rows = bench().rows({"index.json", "-o", "all/{scene}_{index:03}.png", "--metrics",
                                  "all/{scene}.json", "--overwrite"});
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[4]["scenes"].size(), 2U);
  EXPECT_NE(rows[0]["scene"], rows[2]["scene"]);
  std::size_t pictures = 0, metrics = 0;
  for (const auto& entry : fs::directory_iterator(bench() / "all")) {
    pictures += entry.path().extension() == ".png" ? 1 : 0;
    metrics += entry.path().extension() == ".json" &&
                       entry.path().string().find(".run.") == std::string::npos
                   ? 1
                   : 0;
  }
  EXPECT_EQ(pictures, 4U);
  EXPECT_EQ(metrics, 2U);
}

TEST(Render, OneBadSceneDoesNotEndTheRun) {
  write_text_file(bench() / "mixed.json",
                  R"(["ring/opencv_cameras.json", "none/opencv_cameras.json"])");
  const ProgramResult result = bench().run({"mixed.json", "-w", "tiny.safetensors", "--size",
                                            "32x24", "--input-views", "0,2", "--target-views", "1",
                                            "-o", "mixed", "--overwrite", "--format", "jsonl"});
  EXPECT_EQ(result.code, 4) << result.err;
}

TEST(Render, ARunRecordRepeatsTheRun) {
  const std::string first = bench().tensors({"-o", "recorded", "--path", "orbit", "--frames", "2"});
  const Json record = Json::parse(read_text_file(bench() / "recorded.run.json"));
  EXPECT_EQ(record["status"], "complete");
  EXPECT_EQ(record["command"], "render");
  EXPECT_EQ(record["identity"]["inputs"], Json({0, 2, 4, 6}));
  EXPECT_EQ(record["result"]["rendered"], 2);
  const ProgramResult again = bench().run({"--config", "recorded.run.json", "--overwrite"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read_text_file(bench() / "t.safetensors"), first);
}

TEST(Render, PicturesSayWhereTheyComeFrom) {
  bench().rows({"-o", "texts", "--overwrite"});
  const std::string png = read_text_file(bench() / "texts/0000.png");
  EXPECT_NE(png.find("ttt render"), std::string::npos);
}

TEST(Render, AnInterruptKeepsWhatIsDone) {
  const Arguments arguments{"render",     "ring",  "-w",       "tiny.safetensors",
                            "--size",     "32x24", "--path",   "orbit",
                            "--frames",   "3000",  "-o",       "long",
                            "--tile",     "1",     "--format", "jsonl",
                            "--overwrite"};
  const ProgramResult result =
      run_ttt({.arguments = arguments, .directory = bench().path(), .signal_after_lines = 3});
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_NE(result.err.find("--resume"), std::string::npos);
  const auto rows = result.json_lines();
  ASSERT_GE(rows.size(), 4U);
  EXPECT_EQ(rows.back()["interrupted"], true);
  const auto done = rows.back()["counts"]["rendered"].get<std::int64_t>();
  EXPECT_EQ(static_cast<std::size_t>(done) + 1, rows.size());
  EXPECT_LT(done, 3000);
  for (std::size_t i = 0; i + 1 < rows.size(); ++i)
    EXPECT_TRUE(fs::exists(bench() / rows[i]["file"].get<std::string>()));
  const Json record = Json::parse(read_text_file(bench() / "long.run.json"));
  EXPECT_EQ(record["status"], "interrupted");
}

TEST(Render, AnInterruptKeepsWhatIsMeasured) {
  const Arguments arguments{"render",
                            "ring",
                            "-w",
                            "tiny.safetensors",
                            "--size",
                            "32x24",
                            "--render-size",
                            "512x384",
                            "--tile",
                            "1024",
                            "-o",
                            "measured",
                            "--input-views",
                            "0",
                            "--format",
                            "jsonl",
                            "--metrics",
                            "measured.json",
                            "--overwrite",
                            "--target-views",
                            "1,2,3,4,5,6,7,8,9"};
  const ProgramResult result =
      run_ttt({.arguments = arguments, .directory = bench().path(), .signal_after_lines = 2});
  EXPECT_EQ(result.code, 130) << result.err;
  const Json metrics = Json::parse(read_text_file(bench() / "measured.json"));
  EXPECT_GE(metrics["views"].size(), 2U);
  EXPECT_LT(metrics["views"].size(), 9U);
  EXPECT_EQ(metrics["views"].size() + 1, result.json_lines().size());
}

TEST(Render, StatesOfOtherWeightsAreRefused) {
  bench().rows({"--save-state", "own.safetensors", "--overwrite"});
  const auto weights = read_text_file(bench() / "tiny.safetensors");
  std::string other = weights;
  other[other.size() - 3] = static_cast<char>(other[other.size() - 3] ^ 1);
  std::ofstream(bench() / "other.safetensors", std::ios::binary) << other;
  expect_error(bench().run({"ring", "-w", "other.safetensors", "--state", "own.safetensors", "-o",
                            "x", "--size", "32x24"}),
               3, "other weights");
  expect_error(bench().run({"ring", "-w", "tiny.safetensors", "--state", "tiny.safetensors", "-o",
                            "x", "--size", "32x24"}),
               3, "fast weights");
}

TEST(Render, InspectAndListKnowTheModels) {
  const ProgramResult model =
      run_ttt({"inspect", bench() / "tiny.safetensors", "--format", "json"});
  EXPECT_NE(Json::parse(model.out)["model"].get<std::string>().find("lvsm (dim 32"),
            std::string::npos);
  bench().rows({"--save-state", "seen.safetensors", "--overwrite"});
  const ProgramResult state =
      run_ttt({"inspect", bench() / "seen.safetensors", "--format", "json"});
  EXPECT_NE(Json::parse(state.out)["model"].get<std::string>().find("state"), std::string::npos);
  EXPECT_NE(run_ttt({"list", "models"}).out.find("lact_l24_d768_ttt4x"), std::string::npos);
}

TEST(Render, EmptyAndOddCalls) {
  expect_error(bench().run({}), 2, "", "");
  expect_error(bench().run({"-w", "tiny.safetensors", "-o", "x"}), 2, "no scene", "ttt render");
  expect_error(bench().run({"ring", "-w", "ring/0.png", "-o", "x"}), 3, "0.png");
  expect_error(bench().run({"tiny.safetensors", "-w", "tiny.safetensors", "-o", "x"}), 4, "");
  expect_error(bench().run({"ring", "-w", "tiny.safetensors", "-o", "x", "--input-views", "1,b"}),
               2, "--input-views");
  expect_error(bench().run({"ring", "-w", "tiny.safetensors", "-o", "x", "--path", "obit"}), 2,
               "no path or file of this name", "orbit");
  expect_error(bench().run({"ring", "-w", "tiny.safetensors", "-o", "x", "--path", "nosuch.json"}),
               4, "nosuch.json");
  expect_error(bench().run({"ring", "-w", "tiny.safetensors", "-o", "x", "--path", "/dev/zero"}), 4,
               "is a device", "name a file");
  // It has no end.
  expect_error(bench().run({"ring", "--config", "/dev/zero", "-o", "x"}), 2, "/dev/zero");
}

TEST(Render, NoFileIsWrittenTwice) {
  const auto refused = [](const Arguments& more) {
    expect_error(bench().run(plus({"ring", "-w", "tiny.safetensors"}, more)), 2,
                 "name the same file", "its own");
  };
  refused({"--metrics", "one.json", "--save-selection", "./one.json"});
  refused({"--tensors", "one.safetensors", "--save-state", "x/../one.safetensors"});
  refused({"-o", "one", "--metrics", "one.run.json"});
  EXPECT_FALSE(fs::exists(bench() / "one.json"));
}

TEST(Render, MemoryIsCheckedBeforeTheWork) {
  // Hundreds of gigabytes of residual stream on a small model.
  write_text_file(bench() / "wide.yaml",
                  "patch_size: 4\ndim: 1024\nlayers: 1\nblock_config:\n  - type: "
                  "lact_ttt.FastWeightGluMLPMultihead\n    params: {head_dim: 1024}\n");
  const ProgramResult result =
      bench().run({"ring", "--random-weights", "--config", "wide.yaml", "-o", "wide", "--size",
                   "16384x16384", "--input-views", "0,2-9", "--target-views", "1"});
  expect_error(result, 6, "MiB", "--size");
  EXPECT_FALSE(fs::exists(bench() / "wide"));
}

}  // namespace
}  // namespace ttt::test
