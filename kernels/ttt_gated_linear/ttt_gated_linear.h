// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/rope_2d/rope_2d.h"

#include <ATen/core/Tensor.h>

namespace ttt::ops {

/// The gated-linear inner model of the ViT3 block (LeapLabTHU/ViTTT: ttt_block.py):
/// v_hat = (k w1) * silu(k w2), per sample and head.
///
/// One gradient step on -(1/3) * mean over tokens of <v_hat, v>, clipped per output column:
///   z1 = k w1, z2 = k w2, a = silu(z2)
///   g1 = -(1/(3N)) k^T (v * a),   g2 = -(1/(3N)) k^T (v * z1 * silu'(z2))
///   W_i = w_i - g_i / (||g_i||_2 over the input index + 1)
/// Sums run in float (double for double); the factor 1/(3N) is applied once, after the sum, so that
/// half-width dtypes don't lose v/N.
///
/// With a rotary table, k or q are those that rope_2d would give, to the bit, rotated while they
/// are read: all heads*d channels of a token are one vector of the table, and N is its grid's h*w.

/// Inner weights after the step, [B, heads, d, d] each, used as `x @ w`. They are a small state and
/// stay float even when the activations are bfloat16 or half (double for double).
struct InnerWeights {
  at::Tensor w1;
  at::Tensor w2;
};

/// k, v [B, N, heads*d], head j owns channels j*d..(j+1)*d-1; slices of the qkv projection are read
/// in place (any strides as long as the last dimension is contiguous, else it is copied).
/// w1, w2 [1, heads, d, d] or [B, heads, d, d], in the dtype of k or in float.
/// B, N may be 0 (no token: the weights come back unchanged). Differentiable in all four.
/// Throws Error(usage) on shapes that don't fit and Error(device) as `resolve` does.
InnerWeights gated_linear_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w1,
                               const at::Tensor& w2, Backend backend = Backend::automatic,
                               const RopeTable* rope = nullptr);

/// (q W1) * silu(q W2), q [B, N, heads*d] -> [B, N, heads*d] in q's dtype. Differentiable in q, W1,
/// W2. The weights' batch may also be 1.
at::Tensor gated_linear_apply(const at::Tensor& q, const InnerWeights& weights,
                              Backend backend = Backend::automatic,
                              const RopeTable* rope = nullptr);

/// The same into `out` [B, N, heads*d], which may be a slice of a wider tensor (the operand of the
/// output projection) with a contiguous last dimension and q's dtype. On the CPU it may be q
/// itself; else it must not overlap q. Records no gradients: throws Error(usage) where one would be
/// needed.
void gated_linear_apply_out(const at::Tensor& q, const InnerWeights& weights, const at::Tensor& out,
                            Backend backend = Backend::automatic, const RopeTable* rope = nullptr);

}  // namespace ttt::ops
