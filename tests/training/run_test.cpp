// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/atomic_file.h"
#include "core/cancel.h"
#include "core/error.h"
#include "tests/support/paths.h"
#include "training/data_order.h"
#include "training/gradients.h"
#include "training/random.h"
#include "training/trainer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>

namespace ttt::training {
namespace {

struct Line : torch::nn::Module {
  Line() {
    weight = register_parameter("weight", torch::zeros({2, 3}));
    bias = register_parameter("bias", torch::zeros({2}));
    seen = register_buffer("seen", torch::zeros({}));
  }
  at::Tensor weight, bias, seen;
};

/// Fits y = A x + b to points that follow from the seed, epoch and batch.
class LineTask : public Task {
 public:
  explicit LineTask(bool averaged) {
    if (averaged) average_ = std::make_unique<Line>();
  }
  torch::nn::Module& model() override { return model_; }
  torch::nn::Module* average() override { return average_.get(); }
  std::int64_t batches_per_epoch() const override { return 12; }
  void start_epoch(std::int64_t epoch, std::int64_t first_batch) override {
    started.emplace_back(epoch, first_batch);
  }

  BatchResult forward_backward(const BatchPosition& position) override {
    ++calls;
    const std::int64_t at = position.epoch * batches_per_epoch() + position.batch;
    const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(step_seed(9, "x", at));
    const at::Tensor x = at::randn({8, 3}, generator, at::TensorOptions());
    const at::Tensor y = x.matmul(at::ones({3, 2})) + 0.5;
    {
      const torch::NoGradGuard no_grad;
      model_.seen.add_(1);
    }
    at::Tensor loss = (at::linear(x, model_.weight, model_.bias) - y).square().mean();
    if (calls == poison_call) loss = loss * std::numeric_limits<double>::quiet_NaN();
    (loss * position.loss_scale).backward();
    if (calls == cancel_call) request_cancel();
    return {loss.item<double>(), {{"layer/inner_loss", 0.25}}};
  }

  Metrics evaluate(bool average, const ProgressCallback&) override {
    const Line& line = average ? *average_ : model_;
    return {{"score", 10 - (line.weight - 1).norm().item<double>()}};
  }
  Metadata model_metadata() const override { return {{"kind", "line"}}; }
  Metadata fixed_settings() const override { return {{"batch", batch}}; }

  Line model_;
  std::unique_ptr<Line> average_;
  std::vector<std::pair<std::int64_t, std::int64_t>> started;
  int calls = 0, poison_call = -1, cancel_call = -1;
  std::string batch = "8";
};

TrainerOptions options_for(const std::filesystem::path& folder) {
  return {.folder = folder,
          .seed = 1,
          .epochs = 4,
          .schedule = {.base = 0.05, .warmup_start = 0.001, .minimum = 0.001},
          .warmup_epochs = 1,
          .ema_decay = 0.9,
          .log_steps = 1};
}

std::vector<nlohmann::json> log_of(const std::filesystem::path& folder) {
  std::vector<nlohmann::json> rows;
  std::ifstream file(folder / "log.jsonl");
  for (std::string line; std::getline(file, line);) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

void expect_equal(const torch::nn::Module& a, const torch::nn::Module& b) {
  const NamedTensors left = state_dict(a), right = state_dict(b);
  for (std::size_t i = 0; i < left.size(); ++i)
    EXPECT_TRUE(at::equal(left[i].tensor, right[i].tensor)) << left[i].name;
}

TEST(Run, ResumedRunsAreBitIdentical) {
  for (const bool averaged : {false, true}) {
    const test::TempDir folder;
    LineTask whole(averaged);
    train(whole, options_for(folder / "whole"), {});
    // Stops in the middle of an epoch, at its end, and just after.
    for (const std::int64_t stop : {5, 12, 13, 47}) {
      TrainerOptions options = options_for(folder / "parts");
      options.max_steps = stop;
      LineTask first(averaged);
      train(first, options, {});
      options.max_steps = 0;
      options.resume = true;
      LineTask second(averaged);
      const TrainingSummary summary = train(second, options, {});
      EXPECT_EQ(summary.steps, 48);
      EXPECT_EQ(second.started.front(), std::pair(stop / 12, stop % 12));
      expect_equal(whole.model(), second.model());
      if (averaged) expect_equal(*whole.average(), *second.average());
      EXPECT_EQ(log_of(folder / "whole").size(), log_of(folder / "parts").size());
    }
  }
}

void replace_in_file(const std::filesystem::path& path, const std::string& old,
                     const std::string& with) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  bytes.replace(bytes.find(old), old.size(), with);
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(Run, FallsBackToAnOlderCheckpointThatCanBeRead) {
  for (const bool cut : {true, false}) {
    const test::TempDir folder;
    TrainerOptions options = options_for(folder / "run");
    options.checkpoint_steps = 5;
    options.max_steps = 11;
    LineTask first(true);
    train(first, options, {});
    const CheckpointStore store(folder / "run/checkpoints", 3);
    ASSERT_EQ(store.steps(), (std::vector<std::int64_t>{5, 10, 11}));
    if (cut)
      std::filesystem::resize_file(store.state_path(11), 100);
    else
      replace_in_file(store.state_path(11), R"("step":"11")", R"("step":"1x")");
    replace_in_file(folder / "run/log.jsonl", R"("step":1,)", R"("step":[],)");
    options.max_steps = 0;
    options.resume = true;
    LineTask second(true), whole(true);
    train(second, options, {});
    EXPECT_EQ(second.started.front(), std::pair(std::int64_t{0}, std::int64_t{10}));
    train(whole, options_for(folder / "whole"), {});
    expect_equal(whole.model(), second.model());
  }
}

TEST(Run, RefusesToResumeWithOtherSettings) {
  const test::TempDir folder;
  TrainerOptions options = options_for(folder / "run");
  options.max_steps = 3;
  LineTask first(false);
  train(first, options, {});
  options.resume = true;
  LineTask other(false);
  other.batch = "16";
  EXPECT_THROW(train(other, options, {}), Error);
  options.seed = 2;
  LineTask same(false);
  EXPECT_THROW(train(same, options, {}), Error);
}

TEST(Run, ResumeWithoutARunStartsOne) {
  const test::TempDir folder;
  TrainerOptions options = options_for(folder / "run");
  options.resume = true;
  LineTask task(false);
  EXPECT_EQ(train(task, options, {}).steps, 48);
}

TEST(Run, AccumulationTakesTheMeanOfBatches) {
  const test::TempDir folder;
  TrainerOptions options = options_for(folder / "run");
  options.accumulate = 3;
  LineTask task(false);
  const TrainingSummary summary = train(task, options, {});
  EXPECT_EQ(summary.steps, 16);
  EXPECT_EQ(task.calls, 48);

  LineTask sum(false);
  for (std::int64_t i = 0; i < 3; ++i) sum.forward_backward({.batch = i, .loss_scale = 1.0 / 3.0});
  LineTask separate(false);
  at::Tensor mean = at::zeros({2, 3});
  for (std::int64_t i = 0; i < 3; ++i) {
    clear_gradients(trainable_parameters(separate.model()));
    separate.forward_backward({.batch = i});
    mean += separate.model_.weight.grad() / 3;
  }
  EXPECT_TRUE(at::allclose(sum.model_.weight.grad(), mean));
}

TEST(Run, SkipsStepsThatAreNotFinite) {
  const test::TempDir folder;
  LineTask task(true);
  task.poison_call = 4;
  const TrainingSummary summary = train(task, options_for(folder / "run"), {});
  EXPECT_EQ(summary.steps, 48);
  EXPECT_EQ(summary.skipped_steps, 1);
  EXPECT_TRUE(task.model_.weight.isfinite().all().item<bool>());
  EXPECT_EQ(task.model_.seen.item<double>(), 47);  // the poisoned step's statistics are undone
  const auto rows = log_of(folder / "run");
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(),
                          [](const auto& row) { return row["kind"] == "skipped"; }),
            1);
}

/// Norms of the gradients before clipping, in the order of the steps.
std::vector<double> gradient_norms(const std::filesystem::path& folder) {
  std::vector<double> norms;
  for (const auto& row : log_of(folder))
    if (row["kind"] == "step") norms.push_back(row["gradient_norm"]);
  return norms;
}

TEST(Run, LeavesOutStepsWithALargeGradient) {
  const test::TempDir folder;
  TrainerOptions options = options_for(folder / "run");
  options.max_steps = 6;
  options.clip_norm = 0;
  LineTask plain(true);
  train(plain, options, {});
  const std::vector<double> norms = gradient_norms(folder / "run");
  // Every step is too large: nothing changes.
  options.skip_norm = 0.5 * *std::min_element(norms.begin(), norms.end());
  LineTask none(true);
  EXPECT_EQ(train(none, options, {}).skipped_steps, 6);
  EXPECT_EQ(none.model_.weight.norm().item<double>(), 0);
  EXPECT_EQ(none.average_->weight.norm().item<double>(), 0);
  // The limit counts later.
  options.guard_after = 4;
  LineTask first(true);
  EXPECT_EQ(train(first, options, {}).skipped_steps, 2);
  EXPECT_GT(first.model_.weight.norm().item<double>(), 0);
  // No step is.
  options.guard_after = 0;
  options.skip_norm = 1e6;
  LineTask all(true);
  EXPECT_EQ(train(all, options, {}).skipped_steps, 0);
  expect_equal(all.model(), plain.model());
}

TEST(Run, ClipsOnceTheLimitsCount) {
  const test::TempDir folder;
  TrainerOptions options = options_for(folder / "run");
  options.max_steps = 3;
  options.clip_norm = 0;
  LineTask plain(false);
  train(plain, options, {});
  options.clip_norm = 1e-9;  // so far below AdamW's epsilon that hardly anything moves
  LineTask clipped(false);
  train(clipped, options, {});
  EXPECT_LT(clipped.model_.weight.norm().item<double>(),
            0.5 * plain.model_.weight.norm().item<double>());
  options.guard_after = 3;
  LineTask late(false);
  train(late, options, {});
  expect_equal(late.model(), plain.model());
}

TEST(Run, GivesUpWhenEveryGradientIsTooLarge) {
  const test::TempDir folder;
  TrainerOptions options = options_for(folder / "run");
  options.skip_norm = 1e-9;
  options.max_skipped_in_row = 4;
  LineTask task(false);
  try {
    train(task, options, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::check);
    EXPECT_NE(error.message().find("gradient norm"), std::string::npos);
  }
}

TEST(Run, GivesUpWhenNothingIsFiniteAnyMore) {
  const test::TempDir folder;
  LineTask task(false);
  {
    const torch::NoGradGuard no_grad;
    task.model_.weight.fill_(std::numeric_limits<float>::infinity());
  }
  TrainerOptions options = options_for(folder / "run");
  options.max_skipped_in_row = 5;
  try {
    train(task, options, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::check);
  }
  EXPECT_EQ(task.calls, 5);
}

TEST(Run, CancelledRunsSaveACheckpoint) {
  const test::TempDir folder;
  LineTask task(true);
  task.cancel_call = 7;
  try {
    train(task, options_for(folder / "run"), {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
  }
  reset_cancel();
  EXPECT_EQ(CheckpointStore(folder / "run/checkpoints", 1).steps(), (std::vector<std::int64_t>{7}));
}

TEST(Run, WritesLogCurvesAndTheBestModel) {
  const test::TempDir folder;
  TrainerOptions options = options_for(folder / "run");
  options.norms_steps = 10;
  LineTask task(true);
  const TrainingSummary summary = train(task, options, {});
  EXPECT_LT(summary.last_loss.value(), 0.5);
  for (const char* name : {"log.jsonl", "curves.csv", "evaluation.csv", "norms.csv", "curves.png"})
    EXPECT_GT(std::filesystem::file_size(folder / "run" / name), 50U) << name;
  std::ifstream csv(folder / "run/curves.csv");
  std::string heading;
  std::getline(csv, heading);
  EXPECT_EQ(heading, "step,epoch,loss,learning_rate,gradient_norm,skipped_steps,seconds_per_step");
  const WeightFile best = WeightFile::open(folder / "run/checkpoints/best.safetensors");
  EXPECT_EQ(best.metadata().at("kind"), "line");
  EXPECT_EQ(best.tensors().size(), 3U);
  EXPECT_EQ(summary.evaluation.front().first, "score");
}

/// Has scores, one of which begins late.
class ScoredTask : public LineTask {
 public:
  ScoredTask() : LineTask(false) {}
  BatchResult forward_backward(const BatchPosition& position) override {
    BatchResult result = LineTask::forward_backward(position);
    result.scores = {{"psnr", 10.0 * static_cast<double>(position.step) +
                                  static_cast<double>(position.batch % 2)}};
    if (position.step >= 8) result.scores.emplace_back("late", 1.0);
    return result;
  }
  Metrics evaluate(bool, const ProgressCallback&) override { return {{"psnr_held_out", 3.0}}; }
};

TEST(Run, LogsTheMeansOfTheScores) {
  const test::TempDir folder;
  TrainerOptions options = options_for(folder / "run");
  options.ema_decay.reset();
  options.accumulate = 2;
  options.log_steps = 3;
  options.max_steps = 12;
  ScoredTask task;
  train(task, options, {});
  std::map<std::int64_t, nlohmann::json> steps;
  for (const nlohmann::json& row : log_of(folder / "run"))
    if (row["kind"] == "step") steps[row["step"].get<std::int64_t>()] = row;
  // Steps 0 to 2, each with two batches of which the second has 1 more.
  EXPECT_NEAR(steps.at(3)["psnr"].get<double>(), 10.5, 1e-9);
  EXPECT_NEAR(steps.at(6)["psnr"].get<double>(), 40.5, 1e-9);
  EXPECT_FALSE(steps.at(6).contains("late"));
  EXPECT_EQ(steps.at(9)["late"], 1.0) << "the mean over the steps that have it";
  std::ifstream csv(folder / "run/curves.csv");
  std::string heading, row;
  std::getline(csv, heading);
  EXPECT_EQ(heading,
            "step,epoch,loss,psnr,learning_rate,gradient_norm,skipped_steps,seconds_per_step,late");
  std::getline(csv, row);
  EXPECT_EQ(std::count(row.begin(), row.end(), ','), 8);
  EXPECT_TRUE(row.ends_with(",")) << row;
}

TEST(Overfit, LearnsOneBatchOrSaysThatItDidNot) {
  const test::TempDir folder;
  LineTask task(false);
  const OverfitResult result = overfit_one_batch(task, options_for(folder / "run"), 200, {});
  EXPECT_LT(result.last_loss, 0.1 * result.first_loss);
  LineTask slow(false);
  TrainerOptions options = options_for(folder / "run");
  options.schedule.base = 1e-9;
  try {
    overfit_one_batch(slow, options, 5, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::check);
  }
}

}  // namespace
}  // namespace ttt::training
