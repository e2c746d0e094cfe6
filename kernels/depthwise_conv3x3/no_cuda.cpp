// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise_conv3x3/backends.h"

namespace ttt::ops::cuda {

std::vector<at::ScalarType> depthwise_conv3x3_dtypes() {
  return {};
}

at::Tensor depthwise_conv3x3(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                             const DepthwiseConvOptions&) {
  throw_no_cuda("depthwise_conv3x3");
}
DepthwiseConvGradients depthwise_conv3x3_backward(const at::Tensor&, const at::Tensor&,
                                                  const at::Tensor&, const DepthwiseConvOptions&,
                                                  const at::Tensor&) {
  throw_no_cuda("depthwise_conv3x3");
}

}  // namespace ttt::ops::cuda
