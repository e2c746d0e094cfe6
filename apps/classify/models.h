// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/weight_file.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ttt::cli {

/// The published models: name, official_name, about.
nlohmann::ordered_json list_models();

/// Name of the model that these tensors belong to; empty when it is none that we know.
std::string recognised_model(const std::vector<TensorInfo>& tensors);

}  // namespace ttt::cli
