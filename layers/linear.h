// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace ttt::layers {

/// What follows a linear map elementwise; gelu is the exact form.
enum class LinearActivation { none, gelu, silu };

/// activation(x Wᵀ + b) on the last axis. x [..., in], weight [out, in], bias [out] or undefined.
/// On the CPU, products in float and bfloat16 are oneDNN's, with bias and activation in the
/// product: at::linear takes another library for float, which uses half of the vector width on some
/// processors. Everything else, and all of autocast, is at::linear. Differentiable, twice too.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {},
                  LinearActivation activation = LinearActivation::none);

}  // namespace ttt::layers
