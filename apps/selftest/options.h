// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/general_options.h"

#include <optional>
#include <string>
#include <vector>

namespace ttt::cli {

/// What `ttt selftest` can be told.
struct SelftestOptions {
  // Checks
  std::vector<std::string> op;
  std::vector<std::string> model;
  std::string backend = "auto";
  std::string dtype = "all";
  bool full = false;
  // Running
  std::string device = "auto";
  std::optional<std::int64_t> threads;
  // Results
  std::string format = "auto";
  std::string output;
  bool overwrite = false;

  GeneralOptions general;
};

/// The option table; `options` must outlive it.
OptionTable selftest_table(SelftestOptions& options);

}  // namespace ttt::cli
