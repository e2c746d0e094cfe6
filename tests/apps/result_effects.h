// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/apps/effects.h"
#include "tests/apps/run_program.h"

namespace ttt::test {

/// --format, --output, --overwrite and --progress-fd of a subcommand whose few rows go into one
/// file; `arguments` is a call of it that succeeds, with --op among its options.
void add_result_file_effects(std::map<std::string, Effect>& effects,
                             const std::vector<std::string>& arguments);

/// Runs `ttt` with --progress-fd, expects success, and returns its last line of progress.
nlohmann::json last_progress(const std::vector<std::string>& arguments,
                             const std::string& directory = {});

}  // namespace ttt::test
