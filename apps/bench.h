// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ttt::cli {

/// `ttt bench`: measures operations and models, or compares two such results.
int bench_command(const std::vector<std::string>& arguments);
nlohmann::ordered_json describe_bench();

}  // namespace ttt::cli
