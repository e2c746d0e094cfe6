// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/state_dict.h"

#include <torch/nn/module.h>

#include <vector>

namespace ttt::layers {

/// Every parameter and buffer of a module under its dotted path, for load_state_dict.
std::vector<ParameterSlot> parameter_slots(const torch::nn::Module& module);

}  // namespace ttt::layers
