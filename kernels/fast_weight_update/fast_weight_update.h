// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/backend.h"

#include <ATen/core/Tensor.h>

namespace ttt::ops {

/// The last part of LaCT's update (a1600012888/LaCT: lact_nvs/lact_ttt.py): the step is added, and
/// the weights that feed each output unit are scaled back to a given length:
///   s = weight + step;   result[:, j] = s[:, j] / (||s[:, j]||_2 + 1e-5) * norms[j]
/// weight, step [..., in, out], norms [..., 1, out] (the lengths of the weights that the sequence
/// started from) -> [..., in, out], in float (double for double). Differentiable in all three.
/// Throws Error(usage) on shapes that don't fit and Error(device) as `resolve` does.
at::Tensor fast_weight_update(const at::Tensor& weight, const at::Tensor& step,
                              const at::Tensor& norms, Backend backend = Backend::automatic);

/// ||weight[:, j]||_2 over the input index, [..., 1, out]. Differentiable.
at::Tensor fast_weight_norms(const at::Tensor& weight);

}  // namespace ttt::ops
