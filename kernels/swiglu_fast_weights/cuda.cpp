// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/backend.h"
#include "kernels/swiglu_fast_weights/backends.h"

namespace ttt::ops::cuda {

std::vector<at::ScalarType> swiglu_dtypes() {
  return {};
}

void swiglu_apply(const at::Tensor&, const SwigluMatrices&, const at::Tensor&) {
  throw_no_cuda("swiglu_fast_weights");
}
SwigluApplyGradients swiglu_apply_backward(const at::Tensor&, const SwigluMatrices&,
                                           const at::Tensor&) {
  throw_no_cuda("swiglu_fast_weights");
}
void swiglu_gradient(const SwigluTokens&, const SwigluMatrices&, const SwigluMatrices&) {
  throw_no_cuda("swiglu_fast_weights");
}
SwigluGradientGradients swiglu_gradient_backward(const SwigluTokens&, const SwigluMatrices&,
                                                 const SwigluMatrices&) {
  throw_no_cuda("swiglu_fast_weights");
}

}  // namespace ttt::ops::cuda
