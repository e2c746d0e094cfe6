// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every backend of the op defines. Arguments are checked by ttt_gated_linear.cpp: activations
// [B, N, heads*d] of one dtype with a contiguous last dimension, weights [B, heads, d, d] in the
// accumulation dtype, made contiguous per matrix (the batch stride may be 0). A rotary table (null:
// none) fits the activations, and pairs of channels don't reach over two heads.

#include "kernels/ttt_gated_linear/ttt_gated_linear.h"

#include <ATen/core/Tensor.h>

#include <vector>

namespace ttt::ops {

/// Result of the step: the new weights and the raw gradients before the clip, [B, heads, d, d].
struct GatedLinearStep {
  at::Tensor w1, w2;
  at::Tensor g1, g2;
};
/// Gradients of the step; those of the backends' dw1, dw2 are per sample, [B, heads, d, d].
struct GatedLinearStepGradients {
  at::Tensor dk, dv, dw1, dw2;
};
struct GatedLinearApplyGradients {
  at::Tensor dq, dw1, dw2;
};
/// Inputs of the step, and what its forward saved.
struct GatedLinearStepSaved {
  at::Tensor k, v, w1, w2, g1, g2;
  const RopeTable* rope = nullptr;  ///< k is not rotated yet
};

// The op without autograd, for callers that record themselves. Arguments are those of the public
// functions without a table, and checked as there; gradients come in their shapes and dtypes.
GatedLinearStep gated_linear_step_forward(const at::Tensor& k, const at::Tensor& v,
                                          const at::Tensor& w1, const at::Tensor& w2,
                                          Backend backend);
GatedLinearStepGradients gated_linear_step_backward(const GatedLinearStepSaved& saved,
                                                    const at::Tensor& dw1, const at::Tensor& dw2,
                                                    Backend backend);
GatedLinearApplyGradients gated_linear_apply_backward(const at::Tensor& q,
                                                      const InnerWeights& weights,
                                                      const at::Tensor& dout, Backend backend);

namespace reference {
GatedLinearStep gated_linear_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w1,
                                  const at::Tensor& w2, const RopeTable* rope);
GatedLinearStepGradients gated_linear_step_backward(const GatedLinearStepSaved& saved,
                                                    const at::Tensor& dw1, const at::Tensor& dw2);
void gated_linear_apply(const at::Tensor& q, const at::Tensor& w1, const at::Tensor& w2,
                        const RopeTable* rope, const at::Tensor& out);
GatedLinearApplyGradients gated_linear_apply_backward(const at::Tensor& q, const at::Tensor& w1,
                                                      const at::Tensor& w2, const at::Tensor& dout,
                                                      const RopeTable* rope);
}  // namespace reference

namespace cpu {
GatedLinearStep gated_linear_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w1,
                                  const at::Tensor& w2, const RopeTable* rope);
GatedLinearStepGradients gated_linear_step_backward(const GatedLinearStepSaved& saved,
                                                    const at::Tensor& dw1, const at::Tensor& dw2);
void gated_linear_apply(const at::Tensor& q, const at::Tensor& w1, const at::Tensor& w2,
                        const RopeTable* rope, const at::Tensor& out);
GatedLinearApplyGradients gated_linear_apply_backward(const at::Tensor& q, const at::Tensor& w1,
                                                      const at::Tensor& w2, const at::Tensor& dout,
                                                      const RopeTable* rope);
}  // namespace cpu

namespace cuda {
/// Dtypes of this build's CUDA version; empty without one.
std::vector<at::ScalarType> gated_linear_dtypes();
GatedLinearStep gated_linear_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w1,
                                  const at::Tensor& w2, const RopeTable* rope);
GatedLinearStepGradients gated_linear_step_backward(const GatedLinearStepSaved& saved,
                                                    const at::Tensor& dw1, const at::Tensor& dw2);
void gated_linear_apply(const at::Tensor& q, const at::Tensor& w1, const at::Tensor& w2,
                        const RopeTable* rope, const at::Tensor& out);
GatedLinearApplyGradients gated_linear_apply_backward(const at::Tensor& q, const at::Tensor& w1,
                                                      const at::Tensor& w2, const at::Tensor& dout,
                                                      const RopeTable* rope);
}  // namespace cuda

}  // namespace ttt::ops
