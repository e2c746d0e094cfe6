// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/train/novel_views.h"

#include "core/error.h"
#include "core/log.h"
#include "core/seed.h"
#include "layers/module_weights.h"
#include "nvs/model/patches.h"
#include "nvs/procedural/export_scene.h"
#include "nvs/training/novel_view_task.h"
#include "nvs/training/preview.h"

#include <algorithm>
#include <filesystem>

namespace ttt::cli {
namespace {

constexpr PixelSize kPublishedSize{256, 256};
constexpr const char* kProcedural = "procedural";
/// Held-out scenes have seeds of their own, whatever the run's seed is: all runs are measured on
/// the same ones, and none trains on them.
constexpr std::uint64_t kHeldOutSeed = 0x68656C646F7574;

PixelSize size_of(const TrainOptions& options) {
  return options.size.value_or(kPublishedSize);
}

std::uint64_t held_out_seed(std::int64_t index) {
  return derive_seed(kHeldOutSeed, std::to_string(index));
}

nvs::LvsmConfig architecture_of(const TrainOptions& options) {
  const auto presets = nvs::lvsm_presets();
  const bool named = std::any_of(presets.begin(), presets.end(), [&](const auto& preset) {
    return preset.name == options.architecture;
  });
  if (named) return nvs::find_lvsm_preset(options.architecture).config;
  TTT_CHECK(!options.architecture.empty(), usage, "lvsm needs an architecture", "--architecture",
            "name a file such as configs/lvsm_small.yaml, or a preset (`ttt list` shows them)");
  return nvs::read_lvsm_config(options.architecture);
}

void add_perceptual_loss(nvs::NovelViewTaskOptions& task, const TrainOptions& options) {
  if (options.lpips_weights.empty()) {
    TTT_CHECK(!options.lpips && !options.lpips_start, usage,
              "the perceptual loss has no weights to compute it with",
              options.lpips ? "--lpips" : "--lpips-start",
              "name them by --lpips-weights (VGG16's and LPIPS's), or leave this out");
    return;
  }
  // Small pictures are refused before a large file is read.
  nvs::check_perceptual_size(task.width, task.height);
  task.perceptual = std::make_shared<nvs::PerceptualLoss>(options.lpips_weights, task.device);
  task.perceptual_weight = options.lpips.value_or(task.perceptual_weight);
  task.perceptual_start = options.lpips_start.value_or(task.perceptual_start);
}

/// A short run ends before the published start.
void warn_about_late_start(const nvs::NovelViewTaskOptions& task, std::int64_t batches_per_epoch,
                           const TrainOptions& options) {
  std::int64_t steps = options.epochs * (batches_per_epoch / options.accumulate);
  if (options.max_steps > 0) steps = std::min(steps, options.max_steps);
  if (task.perceptual && task.perceptual_weight > 0 && task.perceptual_start >= steps)
    log_warning(
        "the perceptual loss would count from step {}, but the run ends at step {} "
        "(--lpips-start)",
        task.perceptual_start, steps);
}

nvs::NovelViewTaskOptions task_options_of(const TrainSetup& setup, const TrainOptions& options) {
  nvs::NovelViewTaskOptions result{.seed = setup.trainer.seed,
                                   .scenes_per_epoch = options.epoch_scenes,
                                   .batch = options.batch,
                                   .workers = static_cast<int>(options.workers),
                                   .input_views = static_cast<int>(options.input_views),
                                   .target_views = static_cast<int>(options.target_views),
                                   .shared_views = static_cast<int>(options.shared_views),
                                   .normalize = options.mode == "scene",
                                   .recompute = options.recompute,
                                   .bf16_newton_schulz = options.ns_dtype == "bf16",
                                   .backend = ops::parse_backend(options.backend),
                                   .device = setup.device.device,
                                   .processes = setup.trainer.processes};
  result.width = size_of(options).width;
  result.height = size_of(options).height;
  if (options.dtype == "bf16") result.compute = at::kBFloat16;
  add_perceptual_loss(result, options);
  if (options.overfit_one_batch)
    result.workers = 0;
  else
    result.preview = std::filesystem::path(options.output) / "preview.png";
  return result;
}

nvs::SceneFileOptions file_options_of(const TrainOptions& options) {
  const PixelSize size = size_of(options);
  return {
      .width = size.width,
      .height = size.height,
      .views = static_cast<int>(options.input_views + options.target_views - options.shared_views),
      .held_out_every = static_cast<int>(options.held_out_every),
      .workers = static_cast<int>(std::max<std::int64_t>(1, options.workers))};
}

/// "4,1" as numbers, one for each source.
std::vector<double> weights_of(const TrainOptions& options) {
  if (options.data_weights.empty()) return std::vector<double>(options.data.size(), 1.0);
  std::vector<double> values;
  for (const std::string& part : comma_parts(options.data_weights))
    values.push_back(parse_real(part, {0, 1e9}, "--data-weights"));
  TTT_CHECK(values.size() == options.data.size(), usage,
            fmt::format("{} weights for {} sources", values.size(), options.data.size()),
            "--data-weights", "give one number for each --data");
  return values;
}

std::shared_ptr<const nvs::ViewSource> open_source(const TrainOptions& options) {
  TTT_CHECK(!options.data.empty(), usage, "no scenes to train on are named", "--data",
            "name scenes (files or folders), or `procedural` for made-up ones");
  const std::vector<double> weights = weights_of(options);
  const PixelSize size = size_of(options);
  std::vector<nvs::WeightedSource> sources;
  for (std::size_t i = 0; i < options.data.size(); ++i)
    sources.push_back({options.data[i] == kProcedural
                           ? nvs::procedural_source(size.width, size.height)
                           : nvs::scene_file_source(options.data[i], file_options_of(options)),
                       weights[i]});
  return nvs::mixed_source(std::move(sources));
}

/// Scenes to measure on: those that are named, else made-up ones.
std::vector<nvs::SceneViews> open_validation(const TrainOptions& options) {
  if (options.validation_split == "none" || options.overfit_one_batch) return {};
  const PixelSize size = size_of(options);
  const int inputs = static_cast<int>(options.input_views);
  const int targets = static_cast<int>(options.target_views);
  std::vector<nvs::SceneViews> scenes;
  const std::vector<std::string> standard{kProcedural};
  for (const std::string& name : options.validation.empty() ? standard : options.validation) {
    if (name != kProcedural) {
      scenes.push_back(nvs::evaluation_views(name, inputs, targets, file_options_of(options)));
      continue;
    }
    for (std::int64_t i = 0; i < options.validation_scenes; ++i)
      scenes.push_back(
          nvs::procedural_views(held_out_seed(i), inputs + targets, size.width, size.height));
  }
  return scenes;
}

void load_initial_weights(nvs::LvsmModel& model, const TrainOptions& options) {
  const WeightFile file = WeightFile::open(options.weights, {.weights_key = options.weights_key});
  log_info("{}: {}", printable(options.weights),
           summary(load_state_dict(file, layers::parameter_slots(model), {})));
}

}  // namespace

bool trains_novel_views(const TrainOptions& options) {
  return options.model == "lvsm";
}

void set_up_novel_views(TrainSetup& setup, const TrainOptions& options) {
  const PixelSize size = size_of(options);
  const nvs::LvsmConfig config = architecture_of(options);
  nvs::check_picture_size(size.width, size.height, config.patch_size);
  const nvs::NovelViewTaskOptions task_options = task_options_of(setup, options);
  const auto source = open_source(options);
  const std::vector<nvs::SceneViews> validation = open_validation(options);
  const auto model = std::make_shared<nvs::LvsmModel>(config);
  model->initialize(setup.trainer.seed);
  if (!options.weights.empty()) load_initial_weights(*model, options);
  setup.task = std::make_unique<nvs::NovelViewTask>(
      model, setup.averaged ? std::make_shared<nvs::LvsmModel>(config) : nullptr, source,
      validation, task_options);
  warn_about_late_start(task_options, setup.task->batches_per_epoch(), options);
  setup.model = config.name();
  setup.size = size;
  setup.unit = fmt::format("scenes with {} input and {} target views", options.input_views,
                           options.target_views);
  setup.data = fmt::format("training on {}, {} scenes to measure on", source->description(),
                           validation.size());
  setup.write_preview = [source, seed = setup.trainer.seed,
                         views = task_options.views()](const std::string& path) {
    constexpr int kRows = 8, kMostViews = 12;
    nvs::write_preview(*source, seed, kRows, std::min(views, kMostViews), path);
  };
}

void export_validation_scenes(const TrainOptions& options) {
  const PixelSize size = size_of(options);
  for (std::int64_t i = 0; i < options.validation_scenes; ++i)
    nvs::export_procedural_scene(
        std::filesystem::path(options.export_scenes) / fmt::format("scene_{:03}", i),
        held_out_seed(i), static_cast<int>(options.input_views + options.target_views), size.width,
        size.height);
  log_info("{} scenes written to {}", options.validation_scenes, printable(options.export_scenes));
}

}  // namespace ttt::cli
