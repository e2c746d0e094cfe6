// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/general_options.h"
#include "vision/design_space/config.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace ttt::cli {

/// What `ttt train` can be told. The defaults are the official ImageNet recipe.
struct TrainOptions {
  // Data
  std::vector<std::string> data;
  std::string split = "auto";
  std::vector<std::string> validation;
  std::string validation_split = "auto";
  std::string decode = "photo";
  std::int64_t cache = 2048;
  // Model
  std::string model = "vit3";
  std::string dims = "192";
  std::string depths = "12";
  std::string heads = "6";
  std::int64_t patch = 16;
  std::string weights;
  std::string weights_key;
  // Inner training
  vision::InnerSettings inner;
  // Novel views
  std::string architecture;
  std::string data_weights;
  std::int64_t input_views = 8;
  std::int64_t target_views = 8;
  std::int64_t shared_views = 1;
  std::string mode = "object";
  std::string ns_dtype = "fp32";
  std::vector<std::string> lpips_weights;
  std::optional<double> lpips;
  std::optional<std::int64_t> lpips_start;
  std::int64_t epoch_scenes = 1000;
  std::int64_t held_out_every = 8;
  std::int64_t validation_scenes = 16;
  std::string export_scenes;
  // Picture
  std::optional<PixelSize> size;
  std::optional<double> crop_pct = 0.875;
  std::optional<std::array<double, 3>> mean;
  std::optional<std::array<double, 3>> std;
  // Augmentation
  std::string crop = "random-resized";
  std::optional<double> min_scale = 0.08;
  std::int64_t padding = 4;
  std::optional<double> flip = 0.5;
  std::int64_t rand_augment = 2;
  std::optional<double> rand_augment_magnitude = 9.0;
  std::optional<double> rand_augment_std = 0.5;
  std::optional<double> erase = 0.25;
  std::optional<double> mixup = 0.8;
  std::optional<double> cutmix = 1.0;
  std::optional<double> mix_probability = 1.0;
  std::optional<double> label_smoothing = 0.1;
  std::optional<double> drop_path = 0.0;
  // Optimisation
  std::int64_t epochs = 300;
  std::int64_t batch = 128;
  std::int64_t accumulate = 1;
  std::string optimizer = "adamw";
  std::optional<double> learning_rate = 5e-4;
  std::optional<double> warmup_learning_rate = 5e-7;
  std::optional<double> min_learning_rate = 5e-6;
  bool scale_learning_rate = true;
  std::optional<double> warmup_epochs = 20;
  std::optional<double> weight_decay = 0.05;
  std::string cosine = "whole";
  std::optional<double> beta2 = 0.999;
  std::optional<double> clip_norm = 5.0;
  std::optional<double> skip_norm = 0.0;
  std::int64_t guard_after = 0;
  std::optional<double> ema_decay;
  bool scale_ema_decay = true;
  std::optional<double> mesa = 0.0;
  std::optional<double> mesa_start = 0.25;
  // Output
  std::string output = "run";
  bool resume = false;
  bool overwrite = false;
  std::int64_t checkpoint_steps = 0;
  std::int64_t checkpoint_epochs = 1;
  std::int64_t keep_checkpoints = 3;
  std::int64_t evaluate_epochs = 1;
  std::int64_t log_steps = 20;
  std::int64_t norms_steps = 0;
  std::string preview;
  std::string format = "table";
  // Running
  std::int64_t seed = 0;
  std::string device = "auto";
  std::string backend = "auto";
  std::string dtype = "fp32";
  bool recompute = false;
  std::optional<std::int64_t> threads;
  std::int64_t workers = 2;
  std::int64_t max_steps = 0;
  bool overfit_one_batch = false;
  std::int64_t overfit_steps = 200;
  bool evaluate = false;
  bool dry_run = false;

  GeneralOptions general;
};

/// Those of novel views, as a group of their own.
void add_novel_view_options(OptionTable& table, TrainOptions& options);

/// The option table; `options` must outlive it.
OptionTable train_table(TrainOptions& options);

}  // namespace ttt::cli
