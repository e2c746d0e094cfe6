// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/option_table.h"

#include <string>
#include <vector>

namespace ttt::cli {

/// Fills the table's variables: defaults < preset < `--config` file < environment (TTT_…) < command
/// line. A value given again within one layer replaces the earlier one; lists of one layer add up,
/// and replace the list of the layer below. Throws Error(usage).
void resolve_options(OptionTable& table, const std::vector<std::string>& arguments);

}  // namespace ttt::cli
