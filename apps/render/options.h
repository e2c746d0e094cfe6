// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/general_options.h"

#include <optional>
#include <string>
#include <vector>

namespace ttt::cli {

/// What `ttt render` can be told.
struct RenderOptions {
  // Scene
  std::string input;
  std::optional<std::int64_t> scene;
  bool keep_world = false;
  bool sort_frames = false;
  std::int64_t downscale = 0;
  std::string decode = "photo";
  // Views
  std::string input_views;
  std::string target_views;
  std::int64_t views = 32;
  std::string select = "kmeans";
  std::string targets = "auto";
  std::int64_t every = 8;
  std::string selection;
  std::string save_selection;
  // Cameras
  std::string mode = "auto";
  bool fit = false;
  std::string normalize_by = "all";
  std::string path = "dataset";
  std::int64_t frames = 120;
  std::int64_t between = 2;
  std::string interpolation = "sphere";
  std::optional<double> fps;
  // Model
  std::string weights;
  std::string weights_key;
  std::string model;
  std::string model_config;
  std::vector<std::string> allow_missing;
  std::vector<std::string> allow_unexpected;
  bool random_weights = false;
  std::int64_t seed = 0;
  // State
  std::string state;
  std::string save_state;
  std::string state_dtype = "fp32";
  bool add_views = false;
  bool inner_update = true;
  bool inner_report = false;
  std::string inner_plot;
  // Results
  std::string output;
  std::int64_t start_index = 0;
  std::optional<PixelSize> size;
  std::optional<PixelSize> render_size;
  std::string baseline = "none";
  std::string metrics;
  std::vector<std::string> lpips_weights;
  std::string tensors;
  std::string sheet;
  std::string rig;
  std::string format = "table";
  bool overwrite = false;
  bool resume = false;
  // Running
  std::string device = "auto";
  std::string backend = "auto";
  std::string dtype = "fp32";
  std::string ns_dtype = "fp32";
  bool tf32 = false;
  std::optional<std::int64_t> threads;
  std::int64_t workers = 2;
  std::int64_t tile = 2048;
  bool dry_run = false;

  GeneralOptions general;
};

/// The option table; `options` must outlive it.
OptionTable render_table(RenderOptions& options);

}  // namespace ttt::cli
