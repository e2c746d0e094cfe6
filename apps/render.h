// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ttt::cli {

/// `ttt render [options] SCENE`.
int render_command(const std::vector<std::string>& arguments);
nlohmann::ordered_json describe_render();

}  // namespace ttt::cli
