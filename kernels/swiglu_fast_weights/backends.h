// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every backend of the op defines. Arguments are checked by swiglu_fast_weights.cpp:
// activations [B, N, heads*D] of one dtype with a contiguous last dimension; weights
// [B, heads, rows, columns] in the accumulation dtype, contiguous per matrix (the batch stride may
// be 0); rates [B, heads, 3, N] contiguous in the accumulation dtype; gradients of matrices
// contiguous.

#include "kernels/swiglu_fast_weights/swiglu_fast_weights.h"

#include <vector>

namespace ttt::ops {

/// The inputs of swiglu_gradient.
struct SwigluTokens {
  at::Tensor k, v, rates;
};
/// Gradients; those of the backends' weights are per sample.
struct SwigluApplyGradients {
  at::Tensor dq;
  SwigluMatrices dweights;
};
struct SwigluGradientGradients {
  at::Tensor dk, dv, drates;
  SwigluMatrices dweights;
};

// The backward passes without autograd, for callers that record themselves. Arguments are those of
// the public functions, and checked as there; gradients come in their shapes and dtypes.
SwigluApplyGradients swiglu_apply_backward(const at::Tensor& q, const SwigluMatrices& weights,
                                           const at::Tensor& dout, Backend backend);
SwigluGradientGradients swiglu_gradient_backward(const SwigluTokens& tokens,
                                                 const SwigluMatrices& weights,
                                                 const SwigluMatrices& dsums, Backend backend);

namespace reference {
void swiglu_apply(const at::Tensor& q, const SwigluMatrices& weights, const at::Tensor& out);
SwigluApplyGradients swiglu_apply_backward(const at::Tensor& q, const SwigluMatrices& weights,
                                           const at::Tensor& dout);
/// Adds to `sums`.
void swiglu_gradient(const SwigluTokens& tokens, const SwigluMatrices& weights,
                     const SwigluMatrices& sums);
SwigluGradientGradients swiglu_gradient_backward(const SwigluTokens& tokens,
                                                 const SwigluMatrices& weights,
                                                 const SwigluMatrices& dsums);
}  // namespace reference

namespace cpu {
void swiglu_apply(const at::Tensor& q, const SwigluMatrices& weights, const at::Tensor& out);
SwigluApplyGradients swiglu_apply_backward(const at::Tensor& q, const SwigluMatrices& weights,
                                           const at::Tensor& dout);
void swiglu_gradient(const SwigluTokens& tokens, const SwigluMatrices& weights,
                     const SwigluMatrices& sums);
SwigluGradientGradients swiglu_gradient_backward(const SwigluTokens& tokens,
                                                 const SwigluMatrices& weights,
                                                 const SwigluMatrices& dsums);
}  // namespace cpu

namespace cuda {
/// Dtypes of this build's CUDA version; empty without one.
std::vector<at::ScalarType> swiglu_dtypes();
void swiglu_apply(const at::Tensor& q, const SwigluMatrices& weights, const at::Tensor& out);
SwigluApplyGradients swiglu_apply_backward(const at::Tensor& q, const SwigluMatrices& weights,
                                           const at::Tensor& dout);
void swiglu_gradient(const SwigluTokens& tokens, const SwigluMatrices& weights,
                     const SwigluMatrices& sums);
SwigluGradientGradients swiglu_gradient_backward(const SwigluTokens& tokens,
                                                 const SwigluMatrices& weights,
                                                 const SwigluMatrices& dsums);
}  // namespace cuda

}  // namespace ttt::ops
