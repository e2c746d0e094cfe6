// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/module_weights.h"

#include <torch/torch.h>

namespace ttt::layers {

std::vector<ParameterSlot> parameter_slots(const torch::nn::Module& module) {
  std::vector<ParameterSlot> slots;
  for (const auto& parameter : module.named_parameters())
    slots.push_back({parameter.key(), parameter.value()});
  for (const auto& buffer : module.named_buffers()) slots.push_back({buffer.key(), buffer.value()});
  return slots;
}

}  // namespace ttt::layers
