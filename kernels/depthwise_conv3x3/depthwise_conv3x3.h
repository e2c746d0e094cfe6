// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/backend.h"

#include <ATen/core/Tensor.h>

namespace ttt::ops {

enum class Activation { none, relu, gelu };  ///< gelu: the exact form with erf

struct DepthwiseConvOptions {
  std::int64_t stride = 1;                   ///< 1 or 2
  bool add_input = false;                    ///< adds x to the convolution (stride 1 only)
  Activation activation = Activation::none;  ///< last
};

/// Depthwise 3x3 convolution, channels last, zero padding 1, with what follows it fused:
///   y = activation([x +] conv(x, weight) + bias)
/// ViT3's position encoding is add_input; H-ViT3's MLP is add_input and gelu; its patch merging is
/// stride 2 and relu.
/// x [B, h, w, C], any strides with a contiguous last dimension; weight [C, 1, 3, 3], bias [C] or
/// undefined, each in the dtype of x or in float -> [B, ceil(h/stride), ceil(w/stride), C] in x's
/// dtype. Sums run in float (double for double). Differentiable in x, weight, bias. Throws
/// Error(usage) on shapes that don't fit and Error(device) as `resolve` does.
at::Tensor depthwise_conv3x3(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                             const DepthwiseConvOptions& options = {},
                             Backend backend = Backend::automatic);

}  // namespace ttt::ops
