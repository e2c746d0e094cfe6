// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/assignment.h"

#include <string>
#include <vector>

namespace ttt::cli {

/// Splits the arguments of a subcommand into assignments, in the order given; `--set key=value`
/// counts as `--key value`. Arguments without a flag go to the table's positional options. Throws
/// Error(usage) for unknown flags, missing values and superfluous arguments.
std::vector<Assignment> read_command_line(OptionTable& table,
                                          const std::vector<std::string>& arguments);

/// Whether -h or --help is among the arguments (before "--"), and whether "all" follows it.
enum class HelpRequest { none, brief, full };
HelpRequest help_requested(const std::vector<std::string>& arguments);

}  // namespace ttt::cli
