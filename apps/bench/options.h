// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/general_options.h"

#include <string>
#include <vector>

namespace ttt::cli {

/// What `ttt bench` can be told.
struct BenchOptions {
  // Subjects
  std::vector<std::string> op;
  std::vector<std::string> case_patterns;
  std::vector<std::string> model;
  std::string weights;
  std::string pass = "forward";
  // Sweeps: every combination is measured. Texts, because defaults depend on the subjects.
  std::vector<std::string> size;
  std::vector<std::string> batch;
  std::vector<std::string> dtype;
  std::vector<std::string> backend;
  std::vector<std::string> threads;
  // Measuring
  std::string device = "auto";
  std::string cuda_graph = "auto";
  std::int64_t warm_up = 3;
  std::int64_t repetitions = 10;
  // Comparing
  std::vector<std::string> compare;
  double threshold = 0.1;
  // Results
  std::string format = "auto";
  std::string output;
  bool overwrite = false;

  GeneralOptions general;
};

/// The option table; `options` must outlive it.
OptionTable bench_table(BenchOptions& options);

}  // namespace ttt::cli
