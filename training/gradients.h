// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training/named_tensors.h"

#include <utility>

namespace ttt::training {

/// Global L2 norm of the gradients of these parameters, NaN or infinite if any of them is.
double gradient_norm(const NamedTensors& parameters);

/// Scales all gradients by min(1, max_norm / (norm + 1e-6)), as torch's clip_grad_norm_.
void clip_gradients(const NamedTensors& parameters, double norm, double max_norm);

/// L2 norm of the gradients of each module ("blocks.3.attn.qkv": weight and bias together), in the
/// order of registration.
std::vector<std::pair<std::string, double>> gradient_norms_by_module(
    const NamedTensors& parameters);

void clear_gradients(const NamedTensors& parameters);

}  // namespace ttt::training
