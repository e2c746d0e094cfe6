// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/backend.h"

#include <ATen/core/Tensor.h>

namespace ttt::ops {

/// The fast-weight network of LaCT ("Test-Time Training Done Right", Zhang et al.;
/// a1600012888/LaCT: lact_nvs/lact_ttt.py) and the gradient of its inner loss, per sample and head:
///   f_W(x) = (silu(x W0) * (x W2)) W1
/// Tokens come in any number: both ops cut them into tiles, and what they need beside inputs and
/// outputs doesn't grow with it.

/// One matrix for each of the network's three, D = head width, h = hidden width:
/// w0, w2 [B or 1, heads, D, h], w1 [B or 1, heads, h, D]. Weights or gradients. A small state that
/// stays float even when the activations are bfloat16 or half (double for double).
struct SwigluMatrices {
  at::Tensor w0, w1, w2;
};

/// f_W(q), q [B, N, heads*D] (head j owns channels j*D..(j+1)*D-1; slices of a projection are read
/// in place) -> [B, N, heads*D] in q's dtype. N may be 0. Differentiable in q and the weights.
/// Throws Error(usage) on shapes that don't fit and Error(device) as `resolve` does.
at::Tensor swiglu_apply(const at::Tensor& q, const SwigluMatrices& weights,
                        Backend backend = Backend::automatic);

/// The same into `out` [B, N, heads*D], which may be a slice of a wider tensor with contiguous rows
/// and q's dtype, and must not overlap q. Records no gradients: throws Error(usage) where one would
/// be needed.
void swiglu_apply_out(const at::Tensor& q, const SwigluMatrices& weights, const at::Tensor& out,
                      Backend backend = Backend::automatic);

/// The ascent direction of sum_i <f_W(k_i), v_i> with a rate per token and matrix:
///   a = k W0, c = k W2, u = silu(a), R = v W1^T
///   G0 = (k eta0)^T (R c silu'(a)),  G1 = (u c eta1)^T v,  G2 = (k eta2)^T (R u)
/// Sums over tokens without a factor 1/N, in float (double for double).
/// k, v [B, N, heads*D]; rates [B, N, 3, heads] in float or k's dtype, eta_r for W_r.
/// Result: per sample, w0, w2 [B, heads, D, h], w1 [B, heads, h, D]; zeros for N = 0.
/// Differentiable in all inputs; the backward pass recomputes a, c, R instead of keeping them.
SwigluMatrices swiglu_gradient(const at::Tensor& k, const at::Tensor& v, const at::Tensor& rates,
                               const SwigluMatrices& weights, Backend backend = Backend::automatic);

/// Adds the gradient of these tokens to `sums` (contiguous, float or double, [B, heads, ...]), so
/// that a chunk may come in parts. Records no gradients.
void swiglu_gradient_add(const at::Tensor& k, const at::Tensor& v, const at::Tensor& rates,
                         const SwigluMatrices& weights, const SwigluMatrices& sums,
                         Backend backend = Backend::automatic);

}  // namespace ttt::ops
