// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/safetensors_writer.h"

#include <vector>

namespace torch::nn {
class Module;
}

namespace ttt::training {

using NamedTensors = std::vector<NamedTensor>;

/// The parameters that take part in training, in the order of registration.
NamedTensors trainable_parameters(const torch::nn::Module& module);
/// Parameters, then buffers: what a checkpoint of the model holds. The tensors share the module's
/// memory.
NamedTensors state_dict(const torch::nn::Module& module);
NamedTensors buffers(const torch::nn::Module& module);

}  // namespace ttt::training
