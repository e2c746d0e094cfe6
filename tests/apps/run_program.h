// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace ttt::test {

/// How to start the program.
struct ProgramCall {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment =
      {};                        ///< added to ours, in which TTT_… is removed
  std::string input = {};        ///< standard input
  std::string output_path = {};  ///< where standard output goes, instead of into the result
  bool close_stdout = false;
  std::string directory = {};  ///< working directory
  int signal_after_lines = 0;  ///< sends a signal once so many lines stand in `watch`
  std::string watch = {};      ///< a file; by default standard output
  int signal_number = 2;       ///< SIGINT
};

struct ProgramResult {
  int code = -1;  ///< exit code, or 128 + signal
  std::string out;
  std::string err;

  /// The last line of standard error that isn't empty.
  std::string last_error_line() const;
  /// Every line of standard output, parsed.
  std::vector<nlohmann::json> json_lines() const;
};

/// Runs the `ttt` that was built with these tests. Fails the test after two minutes.
ProgramResult run_ttt(const ProgramCall& call);
ProgramResult run_ttt(std::vector<std::string> arguments);
/// Runs any program; arguments[0] is its path.
ProgramResult run_program(const ProgramCall& call);
std::string ttt_path();

using Arguments = std::vector<std::string>;
/// The arguments and more behind them.
Arguments plus(Arguments arguments, const Arguments& more);
/// The rows of `ttt arguments… --format jsonl`; expects this exit code, and at least one row.
std::vector<nlohmann::json> jsonl_rows(const Arguments& arguments, int code = 0);
bool contains(const std::string& text, const std::string& part);

/// Expects the exit code, "error: …" and "hint: …" at the end of standard error, containing these
/// texts, and nothing on standard output.
void expect_error(const ProgramResult& result, int code, const std::string& error,
                  const std::string& hint = {});

std::string read_text_file(const std::string& path);
void write_text_file(const std::string& path, const std::string& content);

}  // namespace ttt::test
