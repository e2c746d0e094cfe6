// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/effects.h"
#include "tests/apps/train_support.h"
#include "tests/apps/train_views_support.h"
#include "tests/support/pictures.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

namespace ttt::test {
namespace {

namespace fs = std::filesystem;

using Effects = std::map<std::string, Effect>;
using Folder = std::shared_ptr<TrainingFolder>;

/// The flag changes the trained weights, compared with the same call without it.
void changes_weights(Effects& effects, const Folder& folder, const std::string& flag,
                     const Arguments& set, Arguments base = {}) {
  effects[flag] = [=] {
    Arguments without = base, with = base;
    without.emplace_back("--overwrite");
    with.emplace_back("--overwrite");
    with.insert(with.end(), set.begin(), set.end());
    const std::string before = folder->weights("base", without);
    EXPECT_FALSE(before.empty());
    EXPECT_NE(folder->weights("changed", with), before);
  };
}

void add_recipe_effects(Effects& effects, const Folder& folder) {
  const auto add = [&](const std::string& flag, const std::string& value, Arguments base = {}) {
    changes_weights(effects, folder, flag, {"--" + flag, value}, std::move(base));
  };
  for (const auto& [flag, value] : {std::pair{"dims", "24"},
                                    {"depths", "1"},
                                    {"heads", "4"},
                                    {"patch", "8"},
                                    {"size", "16"},
                                    {"mean", "0.1"},
                                    {"std", "0.7"},
                                    {"crop", "none"},
                                    {"min-scale", "1"},
                                    {"flip", "1"},
                                    {"rand-augment", "0"},
                                    {"erase", "1"},
                                    {"rand-augment-magnitude", "1"},
                                    {"rand-augment-std", "5"},
                                    {"mixup", "0"},
                                    {"cutmix", "0"},
                                    {"mix-probability", "0"},
                                    {"label-smoothing", "0"},
                                    {"drop-path", "0.9"},
                                    {"batch", "6"},
                                    {"optimizer", "muon"},
                                    {"learning-rate", "0.01"},
                                    {"warmup-epochs", "1"},
                                    {"weight-decay", "1"},
                                    {"clip-norm", "0.001"},
                                    {"ema-decay", "0.5"},
                                    {"seed", "2"},
                                    {"dtype", "bf16"},
                                    {"inner-model", "linear"},
                                    {"inner-loss", "mse"},
                                    {"inner-batch", "N/2"},
                                    {"inner-epochs", "2"},
                                    {"inner-lr", "0.5"},
                                    {"inner-lr-rule", "dynamic"},
                                    {"inner-clip", "none"},
                                    {"max-steps", "2"},
                                    {"epochs", "3"}})
    add(flag, value);
  add("inner-width", "3", {"--inner-model", "mlp2"});
  add("padding", "1", {"--crop", "pad"});
  add("accumulate", "2", {"--batch", "2"});
  add("min-learning-rate", "0.05");
  add("warmup-learning-rate", "0.05", {"--warmup-epochs", "1"});
  changes_weights(effects, folder, "scale-learning-rate", {"--no-scale-learning-rate"});
  changes_weights(effects, folder, "scale-ema-decay", {"--no-scale-ema-decay"},
                  {"--ema-decay", "0.5"});
  add("mesa", "1", {"--ema-decay", "0.5", "--mesa-start", "0"});
  add("mesa-start", "1", {"--ema-decay", "0.5", "--mesa", "1"});
  add("model", "hvit3",
      {"--dims", "8,8,8,8", "--depths", "1,1,1,1", "--heads", "1,1,1,1", "--size", "32"});
  effects["model"] = [=] {
    const ProgramResult result = run_ttt(folder->call(
        "hierarchical", {"--model", "hvit3", "--dims", "8,8,8,8", "--depths", "1,1,1,1", "--heads",
                         "1,1,1,1", "--size", "32", "--dry-run"}));
    EXPECT_TRUE(contains(result.err, "hvit3 (dims 8,8,8,8")) << result.err;
  };
  effects["weights"] = [=] {
    folder->weights("start", {"--overwrite"});
    const std::string file = folder->path("start/checkpoints/step-00000003.safetensors");
    EXPECT_NE(folder->weights("changed", {"--overwrite", "--weights", file}),
              folder->weights("base", {"--overwrite"}));
  };
  effects["weights-key"] = [=] {
    folder->weights("start", {"--overwrite"});
    expect_error(run_ttt(folder->call(
                     "keyed", {"--weights-key", "nothing", "--weights",
                               folder->path("start/checkpoints/step-00000003.safetensors")})),
                 3, "nothing");
  };
}

void add_data_effects(Effects& effects, const Folder& folder) {
  effects["data"] = [=] {
    write_class_folders(folder->path("more"), 5, 2, 12);
    const ProgramResult result = run_ttt(folder->call_with_data("more", "dry", {"--dry-run"}));
    EXPECT_TRUE(contains(result.err, "10 training pictures of 5 classes")) << result.err;
  };
  const auto write_splits = [=] {
    write_class_folders(folder->path("split/train"), 3, 4, 12);
    write_class_folders(folder->path("split/val"), 3, 2, 12);
  };
  const auto dry_run = [=](const std::string& data, const Arguments& more) {
    Arguments arguments{"train", "--data",   folder->path(data),  "--size",
                        "32",    "--output", folder->path("dry"), "--dry-run"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_ttt(arguments).err;
  };
  effects["split"] = [=] {
    write_splits();
    EXPECT_TRUE(contains(dry_run("split", {}), "12 training pictures of 3 classes, 6 to measure"));
    EXPECT_TRUE(contains(dry_run("split", {"--split", "val", "--validation-split", "train"}),
                         "6 training pictures of 3 classes, 12 to measure"));
  };
  effects["validation-split"] = [=] {
    write_splits();
    EXPECT_TRUE(contains(dry_run("split", {"--validation-split", "none"}), ", 0 to measure"));
  };
  effects["validation"] = [=] {
    write_splits();
    EXPECT_TRUE(contains(dry_run("data", {}), ", 0 to measure"));
    EXPECT_TRUE(
        contains(dry_run("data", {"--validation", folder->path("split/val")}), ", 6 to measure"));
  };
  effects["decode"] = [=] {
    // A picture with half its rows: an error for photo, accepted as the official loader does.
    write_class_folders(folder->path("cut"), 3, 4, 12);
    for (const char* name : {"class0/1.bmp", "class1/1.bmp"}) {
      const std::string file = folder->path(std::string("cut/") + name);
      fs::resize_file(file, fs::file_size(file) / 2);
    }
    EXPECT_EQ(run_ttt(folder->call_with_data("cut", "cut_run", {"--overwrite"})).code, 4);
    EXPECT_EQ(
        run_ttt(folder->call_with_data("cut", "cut_run", {"--overwrite", "--decode", "official"}))
            .code,
        0);
  };
  effects["crop-pct"] = [=] {
    const Arguments more{"--overwrite", "--crop", "none"};
    Arguments changed = more;
    changed.insert(changed.end(), {"--crop-pct", "0.5"});
    EXPECT_NE(folder->weights("changed", changed), folder->weights("base", more));
  };
}

void add_output_effects(Effects& effects, const Folder& folder) {
  effects["output"] = [=] {
    write_text_file(folder->path("a_file"), "");
    expect_error(run_ttt(folder->call("a_file")), 5, "can't create the folder", "another output");
    folder->weights("elsewhere", {"--overwrite"});
    EXPECT_TRUE(fs::exists(folder->path("elsewhere/log.jsonl")));
  };
  effects["overwrite"] = [=] {
    folder->weights("twice", {"--overwrite"});
    EXPECT_EQ(run_ttt(folder->call("twice")).code, 5);
    folder->weights("twice", {"--overwrite"});
  };
  effects["resume"] = [=] {
    folder->weights("parts", {"--overwrite", "--max-steps", "2"});
    EXPECT_EQ(folder->weights("parts", {"--resume"}), folder->weights("base", {"--overwrite"}));
  };
  const auto steps_of = [=](const std::string& run) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder->path(run + "/checkpoints")))
      if (entry.path().extension() == ".state") names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
  };
  effects["checkpoint-steps"] = [=] {
    folder->weights("kept", {"--overwrite", "--checkpoint-steps", "1"});
    EXPECT_EQ(steps_of("kept"),
              (std::vector<std::string>{"step-00000001", "step-00000002", "step-00000003"}));
  };
  effects["keep-checkpoints"] = [=] {
    folder->weights("kept", {"--overwrite", "--checkpoint-steps", "1", "--keep-checkpoints", "1"});
    EXPECT_EQ(steps_of("kept"), (std::vector<std::string>{"step-00000003"}));
  };
  effects["checkpoint-epochs"] = [=] {
    folder->weights("kept", {"--overwrite", "--max-steps", "7", "--epochs", "4"});
    EXPECT_EQ(steps_of("kept").size(), 3U);
    folder->weights(
        "kept", {"--overwrite", "--max-steps", "7", "--epochs", "4", "--checkpoint-epochs", "2"});
    EXPECT_EQ(steps_of("kept"), (std::vector<std::string>{"step-00000006", "step-00000007"}));
  };
  effects["evaluate-epochs"] = [=] {
    const Arguments more{"--overwrite",  "--max-steps",       "0", "--epochs", "3",
                         "--validation", folder->path("data")};
    const auto rows = [&](Arguments arguments) {
      folder->weights("measured", arguments);
      const std::string text = read_text_file(folder->path("measured/evaluation.csv"));
      return std::count(text.begin(), text.end(), '\n') - 1;
    };
    EXPECT_EQ(rows(more), 3);
    Arguments rarely = more;
    rarely.insert(rarely.end(), {"--evaluate-epochs", "2"});
    EXPECT_EQ(rows(rarely), 2);  // after the second epoch, and after the last
  };
  effects["log-steps"] = [=] {
    folder->weights("logged", {"--overwrite", "--log-steps", "2"});
    const std::string text = read_text_file(folder->path("logged/log.jsonl"));
    EXPECT_FALSE(contains(text, "\"step\":1,"));
    EXPECT_TRUE(contains(text, "\"step\":2,"));
  };
  effects["norms-steps"] = [=] {
    folder->weights("norms", {"--overwrite", "--norms-steps", "2"});
    const std::string text = read_text_file(folder->path("norms/norms.csv"));
    EXPECT_TRUE(contains(text, "gradient_norm,blocks.0.attn.qkv,"));
    EXPECT_TRUE(contains(text, "gated_linear_update_ratio,blocks.1.attn,"));
  };
  effects["preview"] = [=] {
    EXPECT_EQ(run_ttt(folder->call("sheet", {"--preview", folder->path("sheet.png")})).code, 0);
    EXPECT_TRUE(fs::exists(folder->path("sheet.png")));
    EXPECT_FALSE(fs::exists(folder->path("sheet")));
  };
  effects["format"] = [=] {
    const ProgramResult result =
        run_ttt(folder->call("formatted", {"--overwrite", "--format", "json"}));
    EXPECT_EQ(result.json_lines().at(0)["steps"], 3);
  };
}

void add_running_effects(Effects& effects, const Folder& folder) {
  effects["device"] = [=] {
    EXPECT_EQ(run_ttt(folder->call("gpu", {"--device", "gpuu"})).code, 2);
  };
  // Both give the same weights, which other tests check; here, that the words are understood.
  effects["backend"] = [=] {
    EXPECT_EQ(run_ttt(folder->call("back", {"--overwrite", "--backend", "reference"})).code, 0);
    EXPECT_EQ(run_ttt(folder->call("back", {"--overwrite", "--backend", "cuda"})).code, 7);
  };
  effects["recompute"] = [=] {
    // Inner-loop reports need the results that recomputing doesn't keep.
    folder->weights("again", {"--overwrite", "--norms-steps", "1", "--recompute"});
    EXPECT_FALSE(
        contains(read_text_file(folder->path("again/norms.csv")), "gated_linear_update_ratio"));
  };
  effects["threads"] = [=] {
    EXPECT_EQ(run_ttt(folder->call("threads", {"--threads", "0"})).code, 2);
  };
  effects["workers"] = [=] {
    EXPECT_EQ(folder->weights("workers", {"--overwrite", "--workers", "0"}),
              folder->weights("workers", {"--overwrite", "--workers", "3"}));
    EXPECT_EQ(run_ttt(folder->call("workers", {"--workers", "-1"})).code, 2);
  };
  effects["cache"] = [=] {
    EXPECT_EQ(folder->weights("cache", {"--overwrite", "--cache", "0"}),
              folder->weights("cache", {"--overwrite"}));
    EXPECT_EQ(run_ttt(folder->call("cache", {"--cache", "-1"})).code, 2);
  };
  effects["overfit-one-batch"] = [=] {
    const ProgramResult result = run_ttt(folder->call(
        "overfit", {"--overfit-one-batch", "--format", "json", "--learning-rate", "0.4"}));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.json_lines().at(0)["steps"], 200);
  };
  effects["overfit-steps"] = [=] {
    EXPECT_EQ(
        run_ttt(folder->call("overfit", {"--overfit-one-batch", "--overfit-steps", "1"})).code, 8);
  };
  effects["dry-run"] = [=] {
    EXPECT_EQ(run_ttt(folder->call("none", {"--dry-run"})).code, 0);
    EXPECT_FALSE(fs::exists(folder->path("none")));
  };
  effects["progress-fd"] = [=] {
    const std::string err =
        run_ttt(folder->call("progress", {"--overwrite", "--progress-fd", "2"})).err;
    EXPECT_TRUE(contains(err, "\"task\":\"train\"")) << err;
    EXPECT_TRUE(contains(err, "\"note\":\"loss ")) << err;
  };
}

}  // namespace

Effects train_effects() {
  const auto folder = std::make_shared<TrainingFolder>();
  Effects effects;
  Arguments quick = folder->call("general", {"--dry-run"});
  add_general_effects(effects, quick);
  add_recipe_effects(effects, folder);
  add_data_effects(effects, folder);
  add_output_effects(effects, folder);
  add_running_effects(effects, folder);
  effects.merge(train_views_effects());
  return effects;
}

}  // namespace ttt::test
