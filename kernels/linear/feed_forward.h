// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/linear/linear.h"

namespace ttt::ops {

/// Two linear maps with an activation between them, the MLP of a transformer.
struct FeedForwardMaps {
  at::Tensor first_weight, first_bias;    ///< [hidden, in], [hidden] or undefined
  at::Tensor second_weight, second_bias;  ///< [out, hidden], [out] or undefined
  LinearActivation activation = LinearActivation::none;
};

/// second(activation(first(x))) [+ residual], each map as linear() computes it. Differentiable in
/// x, the parameters and the residual. Where gradients are recorded on the CPU, one tensor of the
/// hidden layer is stored, before its activation and in the dtype of x; the backward pass computes
/// the layer again from that. Throws as linear().
at::Tensor feed_forward(const at::Tensor& x, const FeedForwardMaps& maps,
                        const at::Tensor& residual = {}, Backend backend = Backend::automatic);

}  // namespace ttt::ops
