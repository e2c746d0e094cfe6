// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/named_tensors.h"

#include <torch/torch.h>

namespace ttt::training {

NamedTensors trainable_parameters(const torch::nn::Module& module) {
  NamedTensors result;
  for (const auto& item : module.named_parameters())
    if (item.value().requires_grad()) result.push_back({item.key(), item.value()});
  return result;
}

NamedTensors buffers(const torch::nn::Module& module) {
  NamedTensors result;
  for (const auto& item : module.named_buffers()) result.push_back({item.key(), item.value()});
  return result;
}

NamedTensors state_dict(const torch::nn::Module& module) {
  NamedTensors result;
  for (const auto& item : module.named_parameters())
    result.push_back({item.key(), item.value().detach()});
  for (NamedTensor& buffer : buffers(module)) result.push_back(std::move(buffer));
  return result;
}

}  // namespace ttt::training
