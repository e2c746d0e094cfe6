// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::cli {

/// One subcommand of the program.
struct Command {
  std::string_view name;
  std::string_view summary;
  /// Runs it with the arguments behind its name; returns the exit code.
  int (*run)(const std::vector<std::string>& arguments);
  /// Its option table, as describe_table() gives it.
  nlohmann::ordered_json (*describe)();
};

/// All subcommands, in the order of the help.
std::span<const Command> commands();

/// Runs `ttt` with these arguments (without the program's name); returns the exit code.
int run_program(const std::vector<std::string>& arguments);

}  // namespace ttt::cli
