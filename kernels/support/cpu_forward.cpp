// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The CPU versions are on their way; until each lands, its entry points run the reference.
#include "kernels/depthwise_conv3x3/backends.h"
#include "kernels/rope_2d/backends.h"
#include "kernels/ttt_depthwise/backends.h"
#include "kernels/ttt_gated_linear/backends.h"

namespace ttt::ops::cpu {

GatedLinearStep gated_linear_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w1,
                                  const at::Tensor& w2) {
  return reference::gated_linear_step(k, v, w1, w2);
}
GatedLinearStepGradients gated_linear_step_backward(const GatedLinearStepSaved& saved,
                                                    const at::Tensor& dw1, const at::Tensor& dw2) {
  return reference::gated_linear_step_backward(saved, dw1, dw2);
}
void gated_linear_apply(const at::Tensor& q, const at::Tensor& w1, const at::Tensor& w2,
                        const at::Tensor& out) {
  reference::gated_linear_apply(q, w1, w2, out);
}
GatedLinearApplyGradients gated_linear_apply_backward(const at::Tensor& q, const at::Tensor& w1,
                                                      const at::Tensor& w2,
                                                      const at::Tensor& dout) {
  return reference::gated_linear_apply_backward(q, w1, w2, dout);
}
DepthwiseStep depthwise_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3) {
  return reference::depthwise_step(k, v, w3);
}
DepthwiseStepGradients depthwise_step_backward(const at::Tensor& k, const at::Tensor& v,
                                               const at::Tensor& gradient,
                                               const at::Tensor& dkernels) {
  return reference::depthwise_step_backward(k, v, gradient, dkernels);
}
void depthwise_apply(const at::Tensor& q, const at::Tensor& kernels, const at::Tensor& out) {
  reference::depthwise_apply(q, kernels, out);
}
DepthwiseApplyGradients depthwise_apply_backward(const at::Tensor& q, const at::Tensor& kernels,
                                                 const at::Tensor& dout) {
  return reference::depthwise_apply_backward(q, kernels, dout);
}
void rope_2d(const at::Tensor& x, const RopeTable& table, bool inverse, const at::Tensor& out) {
  reference::rope_2d(x, table, inverse, out);
}
at::Tensor depthwise_conv3x3(const at::Tensor& x, const at::Tensor& taps, const at::Tensor& bias,
                             const DepthwiseConvOptions& options) {
  return reference::depthwise_conv3x3(x, taps, bias, options);
}
DepthwiseConvGradients depthwise_conv3x3_backward(const at::Tensor& x, const at::Tensor& taps,
                                                  const at::Tensor& bias,
                                                  const DepthwiseConvOptions& options,
                                                  const at::Tensor& dout) {
  return reference::depthwise_conv3x3_backward(x, taps, bias, options, dout);
}

}  // namespace ttt::ops::cpu
