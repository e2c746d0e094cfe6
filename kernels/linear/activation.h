// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ttt::ops {

/// What follows a linear map. gelu: the exact form with erf; gelu_tanh: its approximation by tanh;
/// silu: z * sigmoid(z).
enum class LinearActivation { none, relu, gelu, gelu_tanh, silu };

}  // namespace ttt::ops
