// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/backend.h"
#include "kernels/ttt_depthwise/backends.h"

namespace ttt::ops::cuda {

std::vector<at::ScalarType> depthwise_dtypes() {
  return {};
}

DepthwiseStep depthwise_step(const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  throw_no_cuda("ttt_depthwise");
}
DepthwiseStepGradients depthwise_step_backward(const at::Tensor&, const at::Tensor&,
                                               const at::Tensor&, const at::Tensor&) {
  throw_no_cuda("ttt_depthwise");
}
void depthwise_apply(const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  throw_no_cuda("ttt_depthwise");
}
DepthwiseApplyGradients depthwise_apply_backward(const at::Tensor&, const at::Tensor&,
                                                 const at::Tensor&) {
  throw_no_cuda("ttt_depthwise");
}

}  // namespace ttt::ops::cuda
