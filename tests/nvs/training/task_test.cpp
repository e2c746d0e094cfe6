// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/weights/safetensors_writer.h"
#include "core/weights/weight_file.h"
#include "nvs/cameras/nearest_camera.h"
#include "nvs/output/metrics.h"
#include "nvs/scene/views.h"
#include "nvs/training/novel_view_task.h"
#include "tests/support/lpips_weights.h"
#include "tests/support/lvsm.h"
#include "tests/support/paths.h"
#include "tests/support/processes.h"
#include "training/gradients.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

#include <cstdlib>
#include <set>

namespace ttt::test {
namespace {

using training::NamedTensors;
namespace fs = std::filesystem;

constexpr int kSize = 16;
constexpr std::int64_t kJointBatch = 4;

const nvs::LvsmConfig kConfig = small_lvsm({.patch_size = 8, .dim = 32, .mlp_multi = 2});

std::shared_ptr<nvs::LvsmModel> small_model() {
  auto model = std::make_shared<nvs::LvsmModel>(kConfig);
  model->initialize(1);
  return model;
}

nvs::NovelViewTaskOptions options_for(std::int64_t batch) {
  return {.seed = 7,
          .scenes_per_epoch = 12,
          .batch = batch,
          .width = kSize,
          .height = kSize,
          .input_views = 3,
          .target_views = 2,
          .shared_views = 0};
}

std::shared_ptr<const nvs::ViewSource> source() {
  return nvs::procedural_source(kSize, kSize);
}

/// Averaged gradients of batch 1 of epoch 0.
NamedTensors one_batch(const nvs::NovelViewTaskOptions& options) {
  nvs::NovelViewTask task(small_model(), nullptr, source(), {}, options);
  task.start_epoch(0, 1);
  task.forward_backward({.batch = 1});
  NamedTensors result;
  for (const NamedTensor& p : training::trainable_parameters(task.model())) {
    const at::Tensor gradient = p.tensor.grad().clone();
    if (options.processes) {
      options.processes->sum(gradient);
      gradient.div_(options.processes->size());
    }
    result.push_back({p.name, gradient});
  }
  return result;
}

TEST(Worker, DISABLED_Run) {
  const char* folder = std::getenv("TTT_TEST_FOLDER");
  if (folder == nullptr) GTEST_SKIP() << "runs as a part of Processes";
  nvs::NovelViewTaskOptions options = options_for(kJointBatch / 2);
  options.processes = training::ProcessGroup::from_environment();
  ASSERT_TRUE(options.processes);
  write_safetensors(fs::path(folder) / fmt::format("rank{}.safetensors", options.processes->rank()),
                    one_batch(options));
}

TEST(NovelViewProcesses, TwoGiveTheGradientsOfTheJointBatch) {
  const TempDir folder;
  const int port = free_port();
  const std::map<std::string, std::string> environment{{"TTT_TEST_FOLDER", folder.path().string()}};
  const std::vector<pid_t> children{start_worker(0, 2, port, environment),
                                    start_worker(1, 2, port, environment)};
  const NamedTensors expected = one_batch(options_for(kJointBatch));
  ASSERT_EQ(wait_for(children), std::vector<int>({0, 0}));
  const double norm = [&] {
    double sum = 0;
    for (const NamedTensor& item : expected) sum += item.tensor.square().sum().item<double>();
    return std::sqrt(sum);
  }();
  for (const char* rank : {"rank0.safetensors", "rank1.safetensors"}) {
    const WeightFile file = WeightFile::open(folder / rank);
    for (const NamedTensor& item : expected)
      EXPECT_LT((file.read(item.name) - item.tensor).norm().item<double>(), 1e-5 * norm)
          << item.name;
  }
}

TEST(NovelViewTask, BatchesDependOnTheirPositionAlone) {
  const auto loss_at = [](std::int64_t epoch, std::int64_t first, int calls, int workers) {
    nvs::NovelViewTaskOptions options = options_for(2);
    options.workers = workers;
    nvs::NovelViewTask task(small_model(), nullptr, source(), {}, options);
    EXPECT_EQ(task.batches_per_epoch(), 6);
    task.start_epoch(epoch, first);
    double loss = 0;
    for (int i = 0; i < calls; ++i) loss = task.forward_backward({.epoch = epoch}).loss;
    return loss;
  };
  const double expected = loss_at(1, 3, 1, 0);
  EXPECT_EQ(loss_at(1, 0, 4, 0), expected);
  EXPECT_EQ(loss_at(1, 1, 3, 3), expected) << "with workers";
  std::set<double> others{expected};
  for (const auto& [epoch, batch] : {std::pair{0, 3}, {1, 2}, {1, 4}, {2, 3}})
    others.insert(loss_at(epoch, batch, 1, 0));
  EXPECT_EQ(others.size(), 5) << "all positions differ";
}

TEST(NovelViewTask, LearnsOneBatchByHeart) {
  nvs::NovelViewTaskOptions options = options_for(1);
  options.workers = 0;
  nvs::NovelViewTask task(small_model(), nullptr, source(), {}, options);
  training::TrainerOptions trainer{.schedule = {.base = 3e-3}};
  const training::OverfitResult result = training::overfit_one_batch(task, trainer, 300, {});
  EXPECT_LT(result.last_loss, 0.1 * result.first_loss);
}

// A shared view is an input and a target: the model sees its picture, and it counts in the loss.
TEST(NovelViewTask, SharedViewsAreTheLastInputs) {
  struct Recorded : nvs::ViewSource {
    nvs::SceneViews sample(std::uint64_t, int count) const override {
      counts.insert(count);
      return nvs::procedural_views(5, count, kSize, kSize);
    }
    std::string description() const override { return "recorded"; }
    mutable std::set<int> counts;
  };
  const auto recorded = std::make_shared<Recorded>();
  nvs::NovelViewTaskOptions options = options_for(1);
  options.workers = 0;
  for (const int shared : {0, 1, 2}) {
    options.shared_views = shared;
    nvs::NovelViewTask task(small_model(), nullptr, recorded, {}, options);
    task.start_epoch(0, 0);
    task.forward_backward({});
  }
  EXPECT_EQ(recorded->counts, (std::set<int>{3, 4, 5}));
  options.shared_views = 3;
  EXPECT_THROW(nvs::NovelViewTask(small_model(), nullptr, recorded, {}, options), Error);
}

TEST(NovelViewTask, EvaluationMeasuresModelAndBaselines) {
  const TempDir folder;
  nvs::NovelViewTaskOptions options = options_for(1);
  options.preview = folder / "preview.png";
  const nvs::SceneViews scene = nvs::procedural_views(9, 5, kSize, kSize);
  nvs::NovelViewTask task(small_model(), small_model(), source(), {scene, scene}, options);
  const training::Metrics metrics = task.evaluate(false, {});
  ASSERT_EQ(metrics.size(), 3);
  EXPECT_EQ(metrics[0].first, "psnr");
  EXPECT_EQ(metrics[1].first, "psnr_no_update");
  EXPECT_NE(metrics[0].second, metrics[1].second);
  EXPECT_EQ(metrics[2].first, "psnr_nearest_view");
  double nearest = 0;
  for (std::size_t i = 3; i < 5; ++i) {
    const std::size_t input = nvs::nearest_camera(
        scene.cameras[i], std::span<const nvs::Camera>(scene.cameras.data(), 3));
    nearest += nvs::psnr_of(nvs::mean_squared_error(nvs::to_planes(scene.images[input]),
                                                    nvs::to_planes(scene.images[i]))) /
               2;
  }
  EXPECT_NEAR(metrics[2].second, nearest, 1e-4);
  EXPECT_TRUE(fs::exists(options.preview));
  EXPECT_EQ(task.evaluate(true, {})[0].second, metrics[0].second) << "the average is a copy";
  EXPECT_TRUE(nvs::NovelViewTask(small_model(), nullptr, source(), {}, options)
                  .evaluate(false, {})
                  .empty());
}

TEST(NovelViewTask, SceneModeDoesNotDependOnTheWorld) {
  struct Moved : nvs::ViewSource {
    explicit Moved(double scale) : scale_(scale) {}
    nvs::SceneViews sample(std::uint64_t seed, int count) const override {
      nvs::SceneViews views = nvs::procedural_views(seed, count, kSize, kSize);
      for (nvs::Camera& camera : views.cameras)
        camera.camera_to_world.translation = scale_ * camera.camera_to_world.translation;
      return views;
    }
    std::string description() const override { return "moved"; }
    double scale_;
  };
  for (const bool normalize : {false, true}) {
    std::vector<double> losses;
    for (const double scale : {1.0, 5.0}) {
      nvs::NovelViewTaskOptions options = options_for(2);
      options.normalize = normalize;
      nvs::NovelViewTask task(small_model(), nullptr, std::make_shared<Moved>(scale), {}, options);
      task.start_epoch(0, 0);
      losses.push_back(task.forward_backward({}).loss);
    }
    if (normalize)
      EXPECT_NEAR(losses[0], losses[1], 1e-6);
    else
      EXPECT_GT(std::abs(losses[0] - losses[1]), 1e-6);
  }
}

/// Weights of the perceptual loss, read once.
std::shared_ptr<const nvs::PerceptualLoss> perceptual_loss() {
  static const auto loss = [] {
    const TempDir folder;
    test::write_lpips_weights(folder / "lpips.safetensors");
    const std::vector<std::string> files{folder / "lpips.safetensors"};
    return std::make_shared<const nvs::PerceptualLoss>(files);
  }();
  return loss;
}

TEST(NovelViewTask, BatchesTellTheirPsnr) {
  nvs::NovelViewTask task(small_model(), nullptr, source(), {}, options_for(1));
  task.start_epoch(0, 0);
  const training::BatchResult result = task.forward_backward({});
  ASSERT_EQ(result.scores.size(), 1U);
  EXPECT_EQ(result.scores[0].first, "psnr");
  EXPECT_NEAR(result.scores[0].second, -10 * std::log10(result.loss), 1e-6);
}

TEST(NovelViewTask, ThePerceptualLossCountsFromItsStart) {
  nvs::NovelViewTaskOptions options = options_for(1);
  const auto batch = [&](std::int64_t step) {
    nvs::NovelViewTask task(small_model(), nullptr, source(), {}, options);
    task.start_epoch(0, 0);
    return task.forward_backward({.step = step});
  };
  const training::BatchResult plain = batch(2);
  options.perceptual = perceptual_loss();
  options.perceptual_start = 3;
  EXPECT_EQ(batch(2).loss, plain.loss);
  EXPECT_EQ(batch(2).scores.size(), 1U);
  for (const double weight : {1.0, 0.25}) {
    options.perceptual_weight = weight;
    const training::BatchResult result = batch(3);
    ASSERT_EQ(result.scores.size(), 2U);
    EXPECT_EQ(result.scores[0].second, plain.scores[0].second);
    EXPECT_EQ(result.scores[1].first, "lpips");
    EXPECT_GT(result.scores[1].second, 0.01);
    EXPECT_NEAR(result.loss, plain.loss + weight * result.scores[1].second, 1e-6);
  }
  options.perceptual_weight = 0;  // measured in evaluations alone
  EXPECT_EQ(batch(3).scores.size(), 1U);
  options.perceptual_weight = 1;
  options.width = options.height = 8;
  EXPECT_THROW(nvs::NovelViewTask(small_model(), nullptr, source(), {}, options), Error);
}

TEST(NovelViewTask, EvaluationMeasuresThePerceptualDistance) {
  nvs::NovelViewTaskOptions options = options_for(1);
  options.perceptual = perceptual_loss();
  const nvs::SceneViews scene = nvs::procedural_views(9, 5, kSize, kSize);
  nvs::NovelViewTask task(small_model(), nullptr, source(), {scene}, options);
  const training::Metrics metrics = task.evaluate(false, {});
  ASSERT_EQ(metrics.size(), 4U);
  EXPECT_EQ(metrics[0].first, "psnr") << "what decides which checkpoint is the best";
  EXPECT_EQ(metrics[3].first, "lpips");
  EXPECT_GT(metrics[3].second, 0.01);
}

// Stops before the perceptual loss begins, at its first step, and after it.
TEST(NovelViewTask, ResumedRunsWithThePerceptualLossAreBitIdentical) {
  const TempDir folder;
  nvs::NovelViewTaskOptions options = options_for(2);
  options.perceptual = perceptual_loss();
  options.perceptual_start = 3;
  const auto train = [&](const std::string& run, std::int64_t last, bool resume) {
    const auto model = small_model();
    nvs::NovelViewTask task(model, nullptr, source(), {}, options);
    training::train(task,
                    {.folder = folder / run,
                     .epochs = 1,
                     .schedule = {.base = 1e-3},
                     .warmup_epochs = 0,
                     .log_steps = 1,
                     .max_steps = last,
                     .resume = resume},
                    {});
    return training::state_dict(*model);
  };
  const NamedTensors whole = train("whole", 6, false);
  for (const std::int64_t stop : {2, 3, 5}) {
    train("parts", stop, false);
    const NamedTensors parts = train("parts", 6, true);
    for (std::size_t i = 0; i < whole.size(); ++i)
      EXPECT_TRUE(at::equal(whole[i].tensor, parts[i].tensor)) << whole[i].name << " " << stop;
  }
  // A run goes on only with the loss that it was started with.
  options.perceptual_start = 4;
  EXPECT_THROW(train("parts", 6, true), Error);
  options.perceptual_start = 3;
  options.perceptual_weight = 0.5;
  EXPECT_THROW(train("parts", 6, true), Error);
  options.perceptual = nullptr;
  EXPECT_THROW(train("parts", 6, true), Error);
}

TEST(NovelViewTask, MetadataRebuildTheModel) {
  const nvs::NovelViewTask task(small_model(), nullptr, source(), {}, options_for(1));
  const training::Metadata metadata = task.model_metadata();
  EXPECT_EQ(nvs::config_from_json(metadata.at(nvs::kConfigMetadata), "test"), kConfig);
  EXPECT_EQ(metadata.at(nvs::kSizeMetadata), "16x16");
  EXPECT_EQ(metadata.at(nvs::kModeMetadata), "object");
}

}  // namespace
}  // namespace ttt::test
