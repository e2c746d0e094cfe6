// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/general_options.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace ttt::cli {

/// What `ttt classify` can be told.
struct ClassifyOptions {
  // Inputs
  std::vector<std::string> input;
  std::vector<std::string> list;
  std::string split = "auto";
  std::string shard;
  bool stdin_jsonl = false;
  std::string on_error = "skip";
  // Model
  std::string model;
  std::string weights;
  std::string weights_key;
  std::vector<std::string> allow_missing;
  std::vector<std::string> allow_unexpected;
  bool random_weights = false;
  std::int64_t seed = 0;
  // Pre-processing
  std::optional<PixelSize> size;
  std::string resize = "auto";
  std::optional<double> crop_pct;
  std::optional<std::array<double, 3>> mean;
  std::optional<std::array<double, 3>> std;
  std::string decode = "photo";
  // Results
  std::int64_t top_k = 5;
  std::string labels;
  bool logits = false;
  std::string features;
  std::string sheet;
  std::string format = "auto";
  std::string output;
  bool overwrite = false;
  bool resume = false;
  // Running
  std::string device = "auto";
  std::string backend = "auto";
  std::string dtype = "fp32";
  bool tf32 = false;
  std::string cuda_graph = "auto";
  bool deterministic = false;
  std::optional<std::int64_t> threads;
  std::int64_t batch = 8;
  std::optional<std::int64_t> workers;
  bool dry_run = false;
  // The inner loop
  bool inner_update = true;
  bool inner_report = false;

  GeneralOptions general;
};

/// The option table; `options` must outlive it.
OptionTable classify_table(ClassifyOptions& options);

}  // namespace ttt::cli
