// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ttt::cli {

/// `ttt selftest`: compares every implementation that this machine can run with the reference.
int selftest_command(const std::vector<std::string>& arguments);
nlohmann::ordered_json describe_selftest();

}  // namespace ttt::cli
