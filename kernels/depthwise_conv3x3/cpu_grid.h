// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Depthwise correlations over whole tensors, from the row kernels: what depthwise_conv3x3 and
// ttt_depthwise have in common on the CPU. Tensors are [B, h, w, C] with a contiguous last
// dimension, float or bfloat16; taps and biases are contiguous floats.

#include "kernels/depthwise_conv3x3/cpu_kernel.h"
#include "kernels/depthwise_conv3x3/depthwise_conv3x3.h"

#include <ATen/core/Tensor.h>

namespace ttt::ops::cpu {

struct DepthwiseGridOptions {
  std::int64_t stride = 1;
  bool add_input = false;
  DepthwiseEpilogue epilogue = DepthwiseEpilogue::none;
};

/// out = epilogue(correlate(x, taps) + bias [+ x]). Taps are [3, 3, C], or [B, 3, 3, C] for one
/// kernel per sample; `bias` [C] and `gradient` (as out; for the gradient epilogues) may be
/// undefined.
void correlate_grid(const at::Tensor& x, const at::Tensor& taps, const at::Tensor& bias,
                    const at::Tensor& gradient, const DepthwiseGridOptions& options,
                    const at::Tensor& out);

/// The same of some rows of a stack of grids, with stride 1 and without gradient.
void correlate_rows(const DepthwiseConvRows& rows, const at::Tensor& taps, const at::Tensor& bias,
                    const DepthwiseGridOptions& options, const at::Tensor& out);

/// sum over the output grid of pad1(x)[y*stride+i, x*stride+j] * factor[y, x] -> [B, 10, C] float:
/// nine taps, then the sum of the factor.
at::Tensor tap_sums_grid(const at::Tensor& x, const at::Tensor& factor, std::int64_t stride);

/// Gradient of a stride-2 correlation with respect to its input.
void spread_grid(const at::Tensor& gradient, const at::Tensor& taps, const at::Tensor& out);

}  // namespace ttt::ops::cpu
