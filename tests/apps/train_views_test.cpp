// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/train_support.h"
#include "tests/apps/train_views_support.h"
#include "tests/support/lpips_weights.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>

namespace ttt::test {
namespace {

namespace fs = std::filesystem;

// 12 scenes in batches of 2: epochs of 6 steps; step 45 lies in the middle of one.
TEST(TrainViews, ResumeAfterKillGivesTheSameBits) {
  const NovelViewFolder folder;
  for (const Arguments& kind :
       {Arguments{"--ema-decay", "0.9", "--no-scale-ema-decay"},
        Arguments{"--dtype", "bf16", "--optimizer", "muon", "--workers", "2", "--recompute"}}) {
    Arguments more{"--epochs",           "60",   "--max-steps", "100",
                   "--validation-split", "none", "--overwrite"};
    more.insert(more.end(), kind.begin(), kind.end());
    const std::string expected = folder.weights("whole", more);

    more.insert(more.end(), {"--checkpoint-steps", "5"});
    const std::string stop = folder.path("killed/checkpoints/step-00000045.safetensors");
    const ProgramResult killed = run_and_kill(stop, folder.call("killed", more));
    EXPECT_EQ(killed.out, "137\n") << killed.err;
    EXPECT_FALSE(fs::exists(folder.path("killed/checkpoints/step-00000100.safetensors")));

    *std::find(more.begin(), more.end(), "--overwrite") = "--resume";
    const ProgramResult resumed = run_ttt(folder.call("killed", more));
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_TRUE(contains(resumed.err, "resumed from step"));
    EXPECT_TRUE(newest_weights(folder.path("killed")) == expected) << kind[1];
  }
}

TEST(TrainViews, CheckpointsAreRenderedDirectly) {
  const NovelViewFolder folder;
  folder.weights("run");
  const std::string weights = folder.path("run/checkpoints/step-00000003.safetensors");
  const auto render = [&](const Arguments& more) {
    Arguments arguments{
        "render",      folder.scene(),   "--weights", weights,     "--input-views",
        "0-2",         "--target-views", "3,4",       "--tensors", folder.path("t.safetensors"),
        "--overwrite", "--format",       "jsonl"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = run_ttt(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.json_lines().back();
  };
  // The weights say what they were trained on.
  const auto plain = render({});
  EXPECT_EQ(plain["size"], "16x16");
  EXPECT_EQ(plain["scenes"][0]["mode"], "object");
  EXPECT_EQ(render({"--mode", "scene"})["scenes"][0]["mode"], "scene");
  EXPECT_EQ(render({"--size", "24"})["size"], "24x24");
}

// What is measured while training is what `ttt render` measures on the same scenes as files.
TEST(TrainViews, EvaluationAgreesWithRender) {
  const NovelViewFolder folder;
  folder.weights("run");
  const std::string weights = folder.path("run/checkpoints/step-00000003.safetensors");
  const std::string lpips = folder.path("lpips.safetensors");
  write_lpips_weights(lpips);
  const auto measured =
      run_ttt(folder.call("measured", {"--evaluate", "--weights", weights, "--lpips-weights", lpips,
                                       "--lpips", "0", "--format", "json"}))
          .json_lines()
          .at(0)["evaluation"];
  EXPECT_EQ(run_ttt(folder.call("none", {"--export-scenes", folder.path("exported")})).code, 0);
  const auto mean = [&](const Arguments& more) {
    Arguments arguments{"render",         folder.path("exported/scene_000"),
                        "--weights",      weights,
                        "--input-views",  "0-2",
                        "--target-views", "3,4",
                        "--metrics",      folder.path("m.json"),
                        "--overwrite",    "--format",
                        "jsonl"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = run_ttt(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.json_lines().back()["scenes"][0]["mean"];
  };
  const auto psnr = [&](const Arguments& more) { return mean(more)["psnr"].get<double>(); };
  EXPECT_NEAR(mean({"--lpips-weights", lpips})["lpips"].get<double>(),
              measured["lpips"].get<double>(), 1e-4);
  EXPECT_NEAR(psnr({}), measured["psnr"].get<double>(), 1e-3);
  EXPECT_NEAR(psnr({"--no-inner-update"}), measured["psnr_no_update"].get<double>(), 1e-3);
  EXPECT_NEAR(psnr({"--baseline", "nearest"}), measured["psnr_nearest_view"].get<double>(), 1e-3);
}

TEST(TrainViews, MistakesAreNamed) {
  const NovelViewFolder folder;
  const auto call = [&](const Arguments& more) { return run_ttt(folder.call("run", more)); };
  expect_error(call({"--shared-views", "3"}), 2, "don't fit", "--input-views");
  expect_error(call({"--size", "20"}), 2, "20x20", "multiples of 8");
  expect_error(call({"--architecture", ""}), 2, "the value is empty (--architecture)");
  expect_error(run_ttt({"train", "--model", "lvsm", "--data", "procedural"}), 2,
               "needs an architecture");
  expect_error(call({"--batch", "100"}), 2, "fewer than one step");
  expect_error(call({"--data", folder.path("nosuch")}), 4, "nosuch");
  expect_error(call({"--validation", folder.path("nosuch")}), 4, "nosuch");
  // Options of the other family.
  expect_error(call({"--mixup", "0.1"}), 2, "for classifiers", "--model");
  expect_error(call({"--dims", "64"}), 2, "for classifiers", "--model");
  expect_error(run_ttt({"train", "--input-views", "3"}), 2, "for novel views", "--model lvsm");
  expect_error(run_ttt({"train", "--model", "lvsm", "--architecture", folder.path("model.yaml")}),
               2, "no scenes", "procedural");
  folder.weights("run", {"--overwrite"});
  expect_error(call({"--resume", "--input-views", "2"}), 2, "views = 3 inputs", "--overwrite");
  expect_error(call({"--resume", "--size", "24"}), 2, "size = 16x16", "--overwrite");
}

TEST(TrainViews, ProgressTellsLossAndPsnr) {
  const NovelViewFolder folder;
  const std::string err = run_ttt(folder.call("run", {"--progress-fd", "2"})).err;
  // The last report of the training is that of its last step.
  const std::string row = read_text_file(folder.path("run/log.jsonl"));
  const auto logged = nlohmann::json::parse(row.substr(0, row.find('\n')));
  EXPECT_TRUE(
      contains(err, fmt::format("\"note\":\"loss {:.4g}, psnr {:.4g}\"",
                                logged["loss"].get<double>(), logged["psnr"].get<double>())))
      << row << err;
}

TEST(TrainViews, PreviewsShowTheSamples) {
  const NovelViewFolder folder;
  EXPECT_EQ(run_ttt(folder.call("none", {"--preview", folder.path("sheet.png")})).code, 0);
  EXPECT_TRUE(fs::exists(folder.path("sheet.png")));
  EXPECT_FALSE(fs::exists(folder.path("none")));
}

}  // namespace
}  // namespace ttt::test
