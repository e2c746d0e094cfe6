// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every backend of the op defines. Arguments are checked by depthwise_conv3x3.cpp: x
// [B, h, w, C] with a contiguous last dimension; taps [3, 3, C] contiguous (the weight with
// channels last) and bias [C] contiguous or undefined, both in the accumulation dtype.

#include "kernels/depthwise_conv3x3/depthwise_conv3x3.h"

#include <vector>

namespace ttt::ops {

struct DepthwiseConvGradients {
  at::Tensor dx, dtaps, dbias;  ///< dbias is computed whether or not there is a bias
};

/// Inputs of the op, as given to the public function.
struct DepthwiseConvSaved {
  at::Tensor x, weight, bias;
};
struct DepthwiseConvParameterGradients {
  at::Tensor dx, dweight, dbias;  ///< dbias [C] is there with or without a bias
};
/// The gradient without autograd, for callers that record themselves. Arguments are checked as in
/// the public function; gradients come in their shapes and dtypes.
DepthwiseConvParameterGradients depthwise_conv3x3_backward(const DepthwiseConvSaved& saved,
                                                           const DepthwiseConvOptions& options,
                                                           const at::Tensor& dout, Backend backend);

namespace reference {
at::Tensor depthwise_conv3x3(const at::Tensor& x, const at::Tensor& taps, const at::Tensor& bias,
                             const DepthwiseConvOptions& options);
DepthwiseConvGradients depthwise_conv3x3_backward(const at::Tensor& x, const at::Tensor& taps,
                                                  const at::Tensor& bias,
                                                  const DepthwiseConvOptions& options,
                                                  const at::Tensor& dout);
}  // namespace reference

namespace cpu {
at::Tensor depthwise_conv3x3(const at::Tensor& x, const at::Tensor& taps, const at::Tensor& bias,
                             const DepthwiseConvOptions& options);
DepthwiseConvGradients depthwise_conv3x3_backward(const at::Tensor& x, const at::Tensor& taps,
                                                  const at::Tensor& bias,
                                                  const DepthwiseConvOptions& options,
                                                  const at::Tensor& dout);
void depthwise_conv3x3_rows(const DepthwiseConvRows& rows, const at::Tensor& taps,
                            const at::Tensor& bias, const DepthwiseConvOptions& options,
                            const at::Tensor& out);
}  // namespace cpu

namespace cuda {
/// Dtypes of this build's CUDA version; empty without one.
std::vector<at::ScalarType> depthwise_conv3x3_dtypes();
at::Tensor depthwise_conv3x3(const at::Tensor& x, const at::Tensor& taps, const at::Tensor& bias,
                             const DepthwiseConvOptions& options);
DepthwiseConvGradients depthwise_conv3x3_backward(const at::Tensor& x, const at::Tensor& taps,
                                                  const at::Tensor& bias,
                                                  const DepthwiseConvOptions& options,
                                                  const at::Tensor& dout);
}  // namespace cuda

/// ceil(size / stride): output positions of padding 1, kernel 3.
inline std::int64_t depthwise_conv_size(std::int64_t size, std::int64_t stride) {
  return (size + stride - 1) / stride;
}

}  // namespace ttt::ops
