// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise_conv3x3/backends.h"
#include "kernels/depthwise_conv3x3/cpu_grid.h"

#include <ATen/ATen.h>

namespace ttt::ops::cpu {
namespace {

DepthwiseEpilogue forward_epilogue(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return DepthwiseEpilogue::relu;
    case Activation::gelu:
      return DepthwiseEpilogue::gelu;
    case Activation::none:
      break;
  }
  return DepthwiseEpilogue::none;
}

/// Gradient before the activation; `dout` itself without one. The sums are computed again, which
/// costs less than keeping them from the forward pass.
at::Tensor linear_gradient(const at::Tensor& x, const at::Tensor& taps, const at::Tensor& bias,
                           const DepthwiseConvOptions& options, const at::Tensor& dout) {
  if (options.activation == Activation::none) return dout;
  const DepthwiseEpilogue epilogue = options.activation == Activation::relu
                                         ? DepthwiseEpilogue::relu_gradient
                                         : DepthwiseEpilogue::gelu_gradient;
  at::Tensor result = at::empty(dout.sizes(), dout.options());
  correlate_grid(x, taps, bias, dout, {options.stride, options.add_input, epilogue}, result);
  return result;
}

}  // namespace

at::Tensor depthwise_conv3x3(const at::Tensor& x, const at::Tensor& taps, const at::Tensor& bias,
                             const DepthwiseConvOptions& options) {
  at::Tensor out = at::empty({x.size(0), depthwise_conv_size(x.size(1), options.stride),
                              depthwise_conv_size(x.size(2), options.stride), x.size(3)},
                             x.options());
  correlate_grid(x, taps, bias, {},
                 {options.stride, options.add_input, forward_epilogue(options.activation)}, out);
  return out;
}

void depthwise_conv3x3_rows(const DepthwiseConvRows& rows, const at::Tensor& taps,
                            const at::Tensor& bias, const DepthwiseConvOptions& options,
                            const at::Tensor& out) {
  correlate_rows(rows, taps, bias,
                 {options.stride, options.add_input, forward_epilogue(options.activation)}, out);
}

DepthwiseConvGradients depthwise_conv3x3_backward(const at::Tensor& x, const at::Tensor& taps,
                                                  const at::Tensor& bias,
                                                  const DepthwiseConvOptions& options,
                                                  const at::Tensor& dout) {
  const at::Tensor slope = linear_gradient(x, taps, bias, options, dout);
  const at::Tensor dx = at::empty(x.sizes(), x.options());
  if (options.stride == 1) {
    correlate_grid(slope, taps.flip({0, 1}).contiguous(), {}, {},
                   {1, options.add_input, DepthwiseEpilogue::none}, dx);
  } else {
    spread_grid(slope, taps, dx);
  }
  const at::Tensor sums = tap_sums_grid(x, slope, options.stride).sum(0);  // [10, C]
  return {dx, sums.narrow(0, 0, 9).view({3, 3, x.size(3)}), sums.select(0, 9)};
}

}  // namespace ttt::ops::cpu
