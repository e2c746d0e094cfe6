// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/backend.h"

#include <ATen/core/Tensor.h>

namespace ttt::ops {

/// The depthwise inner model of the ViT3 block (LeapLabTHU/ViTTT: ttt_block.py): a 3x3 depthwise
/// convolution with zero padding 1 that gets one gradient step per sample and channel,
///   g[b,i,j,c] = -(1/(3hw)) sum_{y,x} pad1(k)[b,y+i,x+j,c] * v[b,y,x,c]
///   W[b,i,j,c] = w3[c,0,i,j] - g[b,i,j,c] / (||g[b,:,:,c]||_2 over the 9 taps + 1)
/// Sums run in float (double for double); 1/(3hw) is applied once, after the sum.

/// k, v [B, h, w, d] channels last, any strides with a contiguous last dimension (slices of the qkv
/// projection viewed as a grid are read in place); w3 [d, 1, 3, 3] in the dtype of k or in float.
/// Returns the per-sample kernels [B, 3, 3, d], float (double for double). Differentiable.
/// Throws Error(usage) on shapes that don't fit and Error(device) as `resolve` does.
at::Tensor depthwise_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3,
                          Backend backend = Backend::automatic);

/// Correlates every sample with its own kernels (zero padding 1, stride 1):
/// q [B, h, w, d], kernels [B, 3, 3, d] -> [B, h, w, d] in q's dtype. Differentiable in both.
at::Tensor depthwise_apply(const at::Tensor& q, const at::Tensor& kernels,
                           Backend backend = Backend::automatic);

/// The same into `out` [B, h, w, d], which may be a slice with a contiguous last dimension and must
/// not overlap q. Records no gradients: throws Error(usage) where one would be needed.
void depthwise_apply_out(const at::Tensor& q, const at::Tensor& kernels, const at::Tensor& out,
                         Backend backend = Backend::automatic);

/// Kernels [B, 3, 3, d] in the official layout [B*d, 1, 3, 3], batch-major.
at::Tensor depthwise_conv_weight(const at::Tensor& kernels);

}  // namespace ttt::ops
