// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/effects.h"
#include "tests/apps/train_support.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace ttt::test {
namespace {

namespace fs = std::filesystem;

TEST(Train, FlagsHaveAnEffect) {
  for (const auto& [flag, effect] : train_effects()) {
    SCOPED_TRACE("--" + flag);
    effect();
  }
}

TEST(Train, RefusesStepsThatNeedMoreMemoryThanIsFree) {
  const TrainingFolder folder;
  Arguments large{"--model", "vit3_t", "--size", "8192", "--batch", "12", "--dry-run"};
  const ProgramResult result = run_ttt(folder.call("large", large));
  EXPECT_EQ(result.code, 6) << result.err;
  EXPECT_TRUE(contains(result.err, "steps of 12 pictures of 8192x8192 need about ")) << result.err;
  EXPECT_TRUE(contains(result.err, "hint: use a smaller --batch")) << result.err;
  large.push_back("--recompute");  // needs less than can be told
  EXPECT_EQ(run_ttt(folder.call("large", large)).code, 0);
}

// 12 pictures in batches of 2: epochs of 6 steps; step 45 lies in the middle of one.
TEST(Train, ResumeAfterKillGivesTheSameBits) {
  const TrainingFolder folder;
  for (const Arguments& kind :
       {Arguments{"--ema-decay", "0.9", "--no-scale-ema-decay"},
        Arguments{"--dtype", "bf16", "--optimizer", "muon", "--workers", "2"},
        Arguments{"--model", "hvit3", "--dims", "8,8,12,16", "--depths", "1,1,1,1", "--heads",
                  "1,2,3,2", "--size", "32"}}) {
    Arguments more{"--epochs",     "60", "--max-steps",        "150",  "--batch",    "2",
                   "--accumulate", "1",  "--validation-split", "none", "--overwrite"};
    more.insert(more.end(), kind.begin(), kind.end());
    const std::string expected = folder.weights("whole", more);

    more.insert(more.end(), {"--checkpoint-steps", "5"});
    const ProgramResult killed = run_and_kill(
        folder.path("killed/checkpoints/step-00000045.safetensors"), folder.call("killed", more));
    EXPECT_EQ(killed.out, "137\n") << killed.err;
    EXPECT_FALSE(fs::exists(folder.path("killed/checkpoints/step-00000150.safetensors")));

    more[std::find(more.begin(), more.end(), "--overwrite") - more.begin()] = "--resume";
    const ProgramResult resumed = run_ttt(folder.call("killed", more));
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_TRUE(contains(resumed.err, "resumed from step"));
    EXPECT_TRUE(newest_weights(folder.path("killed")) == expected) << kind[1];
  }
}

TEST(Train, InterruptedRunsSaveAndExit130) {
  const TrainingFolder folder;
  Arguments shell{"/bin/bash",
                  "-c",
                  "stop=$1; shift; \"$@\" & pid=$!\n"
                  "while [ ! -e \"$stop\" ]; do kill -0 $pid || exit 1; sleep 0.005; done\n"
                  "kill -INT $pid; wait $pid; echo $?",
                  "bash",
                  folder.path("run/checkpoints/step-00000003.safetensors"),
                  ttt_path()};
  const Arguments call = folder.call("run", {"--max-steps", "0", "--epochs", "100000"});
  shell.insert(shell.end(), call.begin(), call.end());
  const ProgramResult result = run_program({.arguments = shell});
  EXPECT_EQ(result.out, "130\n") << result.err;
  EXPECT_TRUE(contains(result.err, "hint: continue with --resume"));
  EXPECT_TRUE(contains(read_text_file(folder.path("run/train.run.json")), "interrupted"));
}

TEST(Train, CheckpointsAreClassifiedDirectly) {
  const TrainingFolder folder;
  folder.weights("run");
  const ProgramResult result =
      run_ttt({"classify", "--weights", folder.path("run/checkpoints/step-00000003.safetensors"),
               folder.path("data"), "--format", "jsonl"});
  EXPECT_EQ(result.code, 0) << result.err;
  const auto rows = result.json_lines();
  ASSERT_EQ(rows.size(), 13U);
  EXPECT_TRUE(contains(rows[0]["topk"][0]["label"].get<std::string>(), "class"));
  EXPECT_EQ(rows[12]["accuracy"]["count"], 12);
}

TEST(Train, MistakesAreNamed) {
  const TrainingFolder folder;
  const auto call = [&](const Arguments& more) { return run_ttt(folder.call("run", more)); };
  expect_error(call({"--dims", "16,16"}), 2, "takes 1", "one number");
  expect_error(call({"--dims", "1x"}), 2, "--dims");
  expect_error(call({"--heads", "3"}), 2, "not a multiple of heads");
  expect_error(call({"--size", "10"}), 2, "10x10", "nearest");
  expect_error(call({"--batch", "100"}), 2, "fewer than one step");
  expect_error(call({"--model", "vit3_x"}), 2, "vit3_x");
  expect_error(call({"--mesa", "1"}), 2, "averag", "--ema-decay");
  expect_error(call({"--resume", "--overwrite"}), 2, "exclude each other");
  expect_error(call({"--validation", folder.path("none.tar")}), 4, "none.tar");
  expect_error(run_ttt({"train"}), 2, "no training pictures", "--data");
  write_text_file(folder.path("bad.yaml"), "learnign-rate: 1\n");
  expect_error(run_ttt({"train", folder.path("bad.yaml")}), 2, "learnign-rate", "learning-rate");
  folder.weights("run");
  expect_error(call({}), 5, "already holds a run", "--resume");
  expect_error(call({"--resume", "--epochs", "3"}), 2, "epochs = 2, now it is 3");
}

// The file alone says what its TTT blocks train, and by which loss.
TEST(Train, InnerSettingsTravelWithTheWeights) {
  const TrainingFolder folder;
  write_text_file(folder.path("point.yaml"),
                  "inner: {model: mlp2, width: 2, loss: dot, batch: N/2, epochs: 2, lr: 0.5, "
                  "lr_rule: dynamic, clip: none}\n");
  const std::string flat =
      folder.weights("flat", {"--inner-model", "mlp2", "--inner-width", "2", "--inner-loss", "mse",
                              "--inner-batch", "N/2", "--inner-epochs", "2", "--inner-lr", "0.5",
                              "--inner-lr-rule", "dynamic", "--inner-clip", "none"});
  EXPECT_EQ(
      folder.weights("block", {"--config", folder.path("point.yaml"), "--set", "inner.loss=mse"}),
      flat);
  const std::string file = folder.path("block/checkpoints/step-00000003.safetensors");
  const ProgramResult shown = run_ttt({"inspect", file});
  EXPECT_TRUE(contains(shown.out, "inner model mlp2, width 2, loss mse, batch N/2")) << shown.out;
  const ProgramResult result = run_ttt(
      {"classify", "--weights", file, folder.path("data"), "--format", "jsonl", "--inner-report"});
  EXPECT_EQ(result.code, 0) << result.err;
  const auto inner = result.json_lines().at(0)["inner"][0];
  EXPECT_EQ(inner["steps"], 4);
  EXPECT_EQ(inner["learning_rate"], 0.5);
  EXPECT_TRUE(inner.contains("mlp2"));

  expect_error(run_ttt(folder.call("block", {"--resume"})), 2, "inner model", "--overwrite");
  const ProgramResult started = run_ttt(folder.call("anew", {"--weights", file}));
  expect_error(started, 3, "w_out");
}

TEST(Train, InnerMistakesAreNamed) {
  const TrainingFolder folder;
  const auto call = [&](const Arguments& more) { return run_ttt(folder.call("run", more)); };
  expect_error(call({"--set", "inner.loss=ms"}), 2, "inner.loss=ms", "mse");
  expect_error(call({"--set", "inner.los=mse"}), 2, "inner.los", "inner-loss");
  expect_error(call({"--inner-model", "gated_lin"}), 2, "gated_lin", "gated_linear");
  expect_error(call({"--inner-width", "2"}), 2, "no hidden layer", "mlp2");
  expect_error(call({"--inner-batch", "3"}), 2, "inner.batch", "N/2");
  const auto config = [&](const std::string& text) {
    write_text_file(folder.path("bad.yaml"), text);
    return call({"--config", folder.path("bad.yaml")});
  };
  expect_error(config("inner: {loss: mse, los: mse}\n"), 2, "inner.los", "inner-loss");
  expect_error(config("inner:\n  loss: {a: b}\n"), 2, "bad.yaml:2, inner.loss");
  expect_error(config("inner: mse\n"), 2, "unknown option");
  expect_error(config("iner: {loss: mse}\n"), 2, "iner");
  expect_error(config("loss: {inner: mse}\n"), 2, "loss");
  expect_error(config("inner: {loss: mse}\ninner-loss: dot\n"), 2, "given twice");
}

TEST(Train, UnreadablePicturesAreCountedAndExitFour) {
  const TrainingFolder folder;
  write_text_file(folder.path("data/class1/9.bmp"), "not a picture");
  const ProgramResult result =
      run_ttt(folder.call("run", {"--max-steps", "0", "--epochs", "4", "--format", "json"}));
  EXPECT_EQ(result.code, 4);
  EXPECT_GE(result.json_lines().at(0)["unreadable"].get<int>(), 1);
}

TEST(Train, ALossThatIsNeverFiniteFailsTheCheck) {
  const TrainingFolder folder;
  const ProgramResult result = run_ttt(
      folder.call("run", {"--learning-rate", "10", "--no-scale-learning-rate", "--weight-decay",
                          "10", "--clip-norm", "0", "--max-steps", "0", "--epochs", "100000"}));
  expect_error(result, 8, "not finite", "--learning-rate");
}

}  // namespace
}  // namespace ttt::test
