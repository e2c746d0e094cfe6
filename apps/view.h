// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ttt::cli {

/// `ttt view [options] SCENE|STATE`.
int view_command(const std::vector<std::string>& arguments);
nlohmann::ordered_json describe_view();

}  // namespace ttt::cli
