// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ttt::cli {

/// `ttt train`: trains a classifier on labelled pictures.
int train_command(const std::vector<std::string>& arguments);
nlohmann::ordered_json describe_train();

}  // namespace ttt::cli
