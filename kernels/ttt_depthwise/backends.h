// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every backend of the op defines. Arguments are checked by ttt_depthwise.cpp: activations
// [B, h, w, d] of one dtype with a contiguous last dimension; kernels and raw gradients contiguous
// [B, 3, 3, d], w3 contiguous [d, 1, 3, 3], both in the accumulation dtype.

#include "kernels/support/backend.h"

#include <ATen/core/Tensor.h>

#include <vector>

namespace ttt::ops {

struct DepthwiseStep {
  at::Tensor kernels;   ///< after the step
  at::Tensor gradient;  ///< raw, before the clip
};
struct DepthwiseStepGradients {
  at::Tensor dk, dv;
};
/// With the gradient of w3 [d, 1, 3, 3].
struct DepthwiseStepAllGradients {
  at::Tensor dk, dv, dw3;
};
/// Inputs of the step, and what its forward saved.
struct DepthwiseStepSaved {
  at::Tensor k, v, w3, gradient;
};
struct DepthwiseApplyGradients {
  at::Tensor dq, dkernels;
};

// The op without autograd, for callers that record themselves. Arguments are those of the public
// functions, and checked as there; gradients come in their shapes and dtypes.
DepthwiseStep depthwise_step_forward(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3,
                                     Backend backend);
DepthwiseStepAllGradients depthwise_step_backward(const DepthwiseStepSaved& saved,
                                                  const at::Tensor& dkernels, Backend backend);
DepthwiseApplyGradients depthwise_apply_backward(const at::Tensor& q, const at::Tensor& kernels,
                                                 const at::Tensor& dout, Backend backend);

namespace reference {
DepthwiseStep depthwise_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3);
DepthwiseStepGradients depthwise_step_backward(const at::Tensor& k, const at::Tensor& v,
                                               const at::Tensor& gradient,
                                               const at::Tensor& dkernels);
void depthwise_apply(const at::Tensor& q, const at::Tensor& kernels, const at::Tensor& out);
DepthwiseApplyGradients depthwise_apply_backward(const at::Tensor& q, const at::Tensor& kernels,
                                                 const at::Tensor& dout);
}  // namespace reference

namespace cpu {
DepthwiseStep depthwise_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3);
DepthwiseStepGradients depthwise_step_backward(const at::Tensor& k, const at::Tensor& v,
                                               const at::Tensor& gradient,
                                               const at::Tensor& dkernels);
void depthwise_apply(const at::Tensor& q, const at::Tensor& kernels, const at::Tensor& out);
DepthwiseApplyGradients depthwise_apply_backward(const at::Tensor& q, const at::Tensor& kernels,
                                                 const at::Tensor& dout);
}  // namespace cpu

namespace cuda {
/// Dtypes of this build's CUDA version; empty without one.
std::vector<at::ScalarType> depthwise_dtypes();
DepthwiseStep depthwise_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3);
DepthwiseStepGradients depthwise_step_backward(const at::Tensor& k, const at::Tensor& v,
                                               const at::Tensor& gradient,
                                               const at::Tensor& dkernels);
void depthwise_apply(const at::Tensor& q, const at::Tensor& kernels, const at::Tensor& out);
DepthwiseApplyGradients depthwise_apply_backward(const at::Tensor& q, const at::Tensor& kernels,
                                                 const at::Tensor& dout);
}  // namespace cuda

}  // namespace ttt::ops
