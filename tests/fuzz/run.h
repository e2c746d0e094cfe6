// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/fuzz/target.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace ttt::fuzz {

struct RunOptions {
  std::uint64_t count = 1000;
  std::uint64_t seed = 1;
  std::uint64_t first = 0;               ///< index of the first input
  std::filesystem::path failures = ".";  ///< folder for inputs that break a reader
};

/// Reads the seeds, what once broke the target and `count` mutants, and prints a line. A broken
/// promise is reported with a file and a command; a crash or a passed bound ends the process after
/// the same report. Returns the number of failures.
std::uint64_t run_target(const Target& target, const RunOptions& options);
/// Reads one file. Returns false after a report.
bool replay_file(const Target& target, const std::filesystem::path& path);
/// To be called before the others; `program` is named in reports.
void prepare_runs(const char* program);

}  // namespace ttt::fuzz
