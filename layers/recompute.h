// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace ttt::layers {

/// f(x) without keeping what its backward pass needs: that pass runs f again (activation
/// checkpointing), under the autocast state of the first run. f must do the same both times and
/// return one tensor; gradients reach x and the parameters that f uses. Where gradients are off
/// this is f(x).
at::Tensor recompute(std::function<at::Tensor(const at::Tensor&)> f, const at::Tensor& x);

}  // namespace ttt::layers
