// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/weight_file.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ttt::cli {

/// The published novel-view models: name, official_name, about.
nlohmann::ordered_json list_lvsm_models();

/// Name of the novel-view model that these tensors belong to, or of a saved scene state; empty when
/// they are neither.
std::string recognised_lvsm(const std::vector<TensorInfo>& tensors);

}  // namespace ttt::cli
