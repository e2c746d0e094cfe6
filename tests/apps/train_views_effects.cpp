// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/train_views_support.h"
#include "tests/support/lpips_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace ttt::test {
namespace {

using Effects = std::map<std::string, Effect>;
using Folder = std::shared_ptr<NovelViewFolder>;
namespace fs = std::filesystem;

/// The flag changes the trained weights, compared with the same call without it.
void changes_weights(Effects& effects, const Folder& folder, const std::string& flag,
                     const std::string& value, const Arguments& base = {}) {
  effects[flag] = [=] {
    Arguments without = base, with = base;
    without.emplace_back("--overwrite");
    with.insert(with.end(), {"--overwrite", "--" + flag, value});
    const std::string before = folder->weights("base", without);
    EXPECT_FALSE(before.empty());
    EXPECT_NE(folder->weights("changed", with), before);
  };
}

void add_scene_effects(Effects& effects, const Folder& folder) {
  effects["held-out-every"] = [=] {
    const auto data_of = [&](const Arguments& more) {
      return run_ttt(folder->call_with_data(folder->scene(), "dry", more)).err;
    };
    EXPECT_TRUE(contains(data_of({"--dry-run"}), "1 scenes, 10 views"));
    EXPECT_TRUE(contains(data_of({"--dry-run", "--held-out-every", "3"}), "1 scenes, 8 views"));
    EXPECT_TRUE(contains(data_of({"--dry-run", "--held-out-every", "0"}), "1 scenes, 12 views"));
  };
  effects["data-weights"] = [=] {
    const auto weights = [&](const std::string& ratio) {
      return folder->weights("mixed",
                             {"--data", folder->scene(), "--overwrite", "--data-weights", ratio});
    };
    EXPECT_EQ(weights("1,0"), weights("2,0")) << "only the first source";
    EXPECT_NE(weights("1,0"), weights("0,1"));
    expect_error(run_ttt(folder->call("refused", {"--data-weights", "1,2"})), 2, "2 weights for 1",
                 "each --data");
    expect_error(run_ttt(folder->call("refused", {"--data-weights", "x"})), 2, "--data-weights");
    expect_error(run_ttt(folder->call("refused", {"--data-weights", "0"})), 2, "above 0");
  };
  effects["validation-scenes"] = [=] {
    EXPECT_TRUE(
        contains(run_ttt(folder->call("dry", {"--dry-run", "--validation-scenes", "3"})).err,
                 ", 3 scenes to measure on"));
  };
  effects["export-scenes"] = [=] {
    const ProgramResult result = run_ttt(folder->call(
        "none", {"--export-scenes", folder->path("exported"), "--validation-scenes", "2"}));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(fs::exists(folder->path("exported/scene_001/transforms.json")));
    EXPECT_TRUE(fs::exists(folder->path("exported/scene_001/images/view_004.png")));
    EXPECT_FALSE(fs::exists(folder->path("exported/scene_001/images/view_005.png")));
    EXPECT_FALSE(fs::exists(folder->path("exported/scene_002")));
    EXPECT_FALSE(fs::exists(folder->path("none")));
  };
}

void add_perceptual_effects(Effects& effects, const Folder& folder) {
  const auto file = [=] {
    const std::string path = folder->path("lpips.safetensors");
    if (!fs::exists(path)) write_lpips_weights(path);
    return path;
  };
  const auto weights = [=](Arguments more) {
    more.insert(more.end(), {"--overwrite", "--validation-split", "none"});
    return folder->weights("perceptual", more);
  };
  const auto curves = [=] { return read_text_file(folder->path("perceptual/curves.csv")); };
  effects["lpips-weights"] = [=] {
    const std::string plain = weights({});
    EXPECT_TRUE(contains(curves(), ",loss,psnr,learning_rate"));
    EXPECT_FALSE(contains(curves(), "lpips"));
    EXPECT_NE(weights({"--lpips-weights", file(), "--lpips-start", "0"}), plain);
    EXPECT_TRUE(contains(curves(), ",loss,psnr,lpips,learning_rate"));
    const auto refused = [&](const Arguments& more) { return run_ttt(folder->call("no", more)); };
    expect_error(refused({"--lpips-weights", folder->path("nosuch.pth")}), 3, "nosuch.pth");
    expect_error(refused({"--lpips-weights", file(), "--lpips-weights", file()}), 3,
                 "both files hold a trunk", "vgg16");
    expect_error(refused({"--lpips-weights", file(), "--size", "8"}), 2, "8x8 are too small",
                 "16x16");
  };
  effects["lpips"] = [=] {
    const Arguments whole{"--lpips-weights", file(), "--lpips-start", "0"};
    Arguments half = whole, none = whole;
    half.insert(half.end(), {"--lpips", "0.5"});
    none.insert(none.end(), {"--lpips", "0"});
    EXPECT_NE(weights(half), weights(whole));
    EXPECT_EQ(weights(none), weights({}));
    const ProgramResult measured = run_ttt(folder->call(
        "measured",
        {"--lpips-weights", file(), "--lpips", "0", "--evaluate", "--weights",
         folder->path("perceptual/checkpoints/step-00000003.safetensors"), "--format", "json"}));
    EXPECT_EQ(measured.code, 0) << measured.err;
    EXPECT_GT(measured.json_lines().at(0)["evaluation"]["lpips"].get<double>(), 0.01);
    expect_error(run_ttt(folder->call("no", {"--lpips", "1"})), 2, "no weights to compute it with",
                 "--lpips-weights");
  };
  effects["lpips-start"] = [=] {
    const auto from = [&](const std::string& step) {
      return weights({"--lpips-weights", file(), "--lpips-start", step});
    };
    EXPECT_NE(from("1"), from("0"));
    EXPECT_EQ(from("3"), weights({}));
    const ProgramResult late =
        run_ttt(folder->call("no", {"--lpips-weights", file(), "--dry-run"}));
    EXPECT_EQ(late.code, 0);
    EXPECT_TRUE(contains(late.err, "count from step 5000, but the run ends at step 3"));
    expect_error(run_ttt(folder->call("no", {"--lpips-start", "1"})), 2,
                 "no weights to compute it with (--lpips-start)", "--lpips-weights");
  };
}

/// Of the trainer, and worded for both families.
void add_trainer_effects(Effects& effects, const Folder& folder) {
  changes_weights(effects, folder, "cosine", "after-warmup", {"--warmup-epochs", "0.5"});
  changes_weights(effects, folder, "beta2", "0.5");
  const auto skipped = [=](const Arguments& more) {
    Arguments arguments{"--overwrite", "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_ttt(folder->call("limits", arguments)).json_lines().at(0)["skipped_steps"];
  };
  effects["skip-norm"] = [=] {
    EXPECT_EQ(skipped({}), 0);
    EXPECT_EQ(skipped({"--skip-norm", "1e-9"}), 3);
    EXPECT_EQ(skipped({"--skip-norm", "1e9"}), 0);
  };
  effects["guard-after"] = [=] {
    EXPECT_EQ(skipped({"--skip-norm", "1e-9", "--guard-after", "2"}), 1);
  };
  effects["evaluate"] = [=] {
    folder->weights("run", {"--overwrite"});
    const std::string file = folder->path("run/checkpoints/step-00000003.safetensors");
    const ProgramResult result =
        run_ttt(folder->call("measured", {"--evaluate", "--weights", file, "--format", "json",
                                          "--validation-scenes", "2"}));
    EXPECT_EQ(result.code, 0) << result.err;
    const auto metrics = result.json_lines().at(0)["evaluation"];
    for (const char* name : {"psnr", "psnr_no_update", "psnr_nearest_view"})
      EXPECT_GT(metrics[name].get<double>(), 5) << name;
    EXPECT_TRUE(fs::exists(folder->path("measured/preview.png")));
    EXPECT_FALSE(fs::exists(folder->path("measured/log.jsonl")));
    expect_error(run_ttt(folder->call("measured", {"--evaluate"})), 2, "no weights", "--weights");
    expect_error(run_ttt(folder->call(
                     "measured", {"--evaluate", "--weights", file, "--validation-split", "none"})),
                 2, "nothing to measure", "--validation");
  };
}

}  // namespace

Effects train_views_effects() {
  const auto folder = std::make_shared<NovelViewFolder>();
  Effects effects;
  changes_weights(effects, folder, "input-views", "2");
  changes_weights(effects, folder, "target-views", "1");
  changes_weights(effects, folder, "shared-views", "1");
  changes_weights(effects, folder, "mode", "scene");
  changes_weights(effects, folder, "ns-dtype", "bf16");
  changes_weights(effects, folder, "epoch-scenes", "10");
  effects["architecture"] = [=] {
    write_text_file(folder->path("wide.yaml"), novel_view_architecture(32));
    EXPECT_NE(folder->weights("wide", {"--overwrite", "--architecture", folder->path("wide.yaml")}),
              folder->weights("base", {"--overwrite"}));
    EXPECT_TRUE(
        contains(run_ttt(folder->call("dry", {"--architecture", "nosuch.yaml"})).err, "nosuch"));
  };
  add_scene_effects(effects, folder);
  add_perceptual_effects(effects, folder);
  add_trainer_effects(effects, folder);
  return effects;
}

}  // namespace ttt::test
