// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/holders.h"

#include <ATen/core/Generator.h>

namespace ttt::layers {

/// Normal(0, std) cut at ±2 (absolute, timm's trunc_normal_), in place.
void fill_truncated_normal(at::Tensor tensor, double std, at::Generator generator);
/// PyTorch's default for convolutions: weight and bias uniform in ±1/√fan_in, in place.
void fill_convolution_default(at::Tensor weight, at::Tensor bias, at::Generator generator);

/// The defaults of the official ViT3 training: weights truncated-normal with std 0.02, bias 0.
void fill_linear_default(Linear& linear, at::Generator generator);
void fill_convolution_default(DepthwiseConv& convolution, at::Generator generator);
/// weight 1, bias 0; a batch norm's running statistics 0 and 1.
void fill_norm_default(LayerNorm& norm);
void fill_norm_default(BatchNorm& norm);

}  // namespace ttt::layers
