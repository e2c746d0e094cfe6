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

/// Name of the model that a weight file holds; empty when it is none that we know. Throws
/// Error(weights) for metadata that contradict the tensors.
std::string recognised_model(const WeightFile& file);

}  // namespace ttt::cli
