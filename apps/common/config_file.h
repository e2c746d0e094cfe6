// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/assignment.h"

#include <string>
#include <vector>

namespace ttt::cli {

/// Reads a configuration: a YAML map from option names (kebab-case or snake_case) to values (a map
/// `inner: {loss: mse}` means `inner-loss: mse`), or the
/// run record of an earlier run, whose non-default options are taken. Throws Error(usage) for files
/// that can't be read, unknown or repeated keys, and values that are empty.
std::vector<Assignment> read_config_file(OptionTable& table, const std::string& path);

}  // namespace ttt::cli
