// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/option_table.h"

#include <string>

namespace ttt::cli {

/// Help of one subcommand. The brief form shows the options marked common; the full form shows all,
/// with ranges, defaults and environment names.
std::string help_text(const OptionTable& table, bool full);

/// Every option with its value and where that comes from, as a table or as JSON.
std::string config_text(const OptionTable& table, bool json);

/// {"name": {"value": …, "origin": …}, …}, as in run records.
nlohmann::ordered_json options_json(const OptionTable& table);

/// The table itself: {"command", "presets", "options"}; an option has its name, letter, type,
/// range, default, unit, group, help and environment name.
nlohmann::ordered_json describe_table(const OptionTable& table);

}  // namespace ttt::cli
