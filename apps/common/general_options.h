// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/option_table.h"
#include "apps/common/progress_display.h"

#include <string>
#include <vector>

namespace ttt::cli {

/// Options that every subcommand has.
struct GeneralOptions {
  std::string config;
  std::string preset;
  std::vector<std::string> set;
  bool print_config = false;
  bool verbose = false;
  bool quiet = false;
  std::string log_file;
  std::string color = "auto";
  bool help = false;
  std::optional<std::int64_t> progress_fd;
};

/// Adds them as the last group; --preset only if the table has presets, --progress-fd only for
/// subcommands with long-running work.
void add_general_options(OptionTable& table, GeneralOptions& options, bool has_progress);

/// Resolves the table's options, then sets up logs and colours. Returns true when the run ends
/// here, because --help or --print-config was asked for and is printed (the latter as JSON if the
/// table's
/// --format says so).
bool start(OptionTable& table, GeneralOptions& options, const std::vector<std::string>& arguments);

/// The --progress-fd of a started run, checked, and whether progress is shown.
ProgressDisplay::Settings progress_settings(const GeneralOptions& options);

}  // namespace ttt::cli
