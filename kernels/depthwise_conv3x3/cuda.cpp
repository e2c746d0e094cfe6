// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise_conv3x3/cuda.h"

#include "kernels/depthwise_conv3x3/backends.h"
#include "kernels/support/cuda_tensors.h"

#include <ATen/ops/empty.h>

namespace ttt::ops::cuda {
namespace {

constexpr std::string_view kOp = "depthwise_conv3x3";

ConvolutionSizes sizes_of(const at::Tensor& x, const DepthwiseConvOptions& options) {
  return {x.size(0), x.size(1), x.size(2), x.size(3), static_cast<int>(options.stride)};
}

ConvolutionParameters parameters_of(const at::Tensor& taps, const at::Tensor& bias,
                                    const DepthwiseConvOptions& options) {
  ConvolutionParameters parameters;
  parameters.taps = taps.const_data_ptr<float>();
  if (bias.defined()) parameters.bias = bias.const_data_ptr<float>();
  parameters.add_input = options.add_input;
  parameters.activation = static_cast<ConvolutionActivation>(options.activation);
  return parameters;
}

static_assert(static_cast<int>(Activation::none) == static_cast<int>(ConvolutionActivation::none));
static_assert(static_cast<int>(Activation::relu) == static_cast<int>(ConvolutionActivation::relu));
static_assert(static_cast<int>(Activation::gelu) == static_cast<int>(ConvolutionActivation::gelu));

/// The gradient of the output before the activation, through the convolution to its input.
void launch_input_gradient(const at::Tensor& dz, const at::Tensor& dx,
                           const ConvolutionParameters& parameters, const ConvolutionSizes& sizes,
                           const Stream& stream) {
  ConvolutionLaunch launch;
  launch.input_type = data_type(dz);
  launch.output_type = data_type(dx);
  launch.sizes = sizes;
  launch.x = {dz.const_data_ptr(), grid_strides(dz)};
  launch.out = {dx.mutable_data_ptr(), grid_strides(dx)};
  launch.parameters.taps = parameters.taps;
  launch.parameters.add_input = parameters.add_input;
  launch.flip = true;
  if (sizes.stride == 1) {
    launch_convolution(launch, stream);
  } else {
    launch_transposed_convolution(launch, stream);
  }
}

}  // namespace

std::vector<at::ScalarType> depthwise_conv3x3_dtypes() {
  return {at::kFloat, at::kBFloat16};
}

at::Tensor depthwise_conv3x3(const at::Tensor& x, const at::Tensor& taps, const at::Tensor& bias,
                             const DepthwiseConvOptions& options) {
  const ConvolutionSizes sizes = sizes_of(x, options);
  const at::Tensor out =
      at::empty({sizes.batch, sizes.out_height(), sizes.out_width(), sizes.channels}, x.options());
  ConvolutionLaunch launch;
  launch.input_type = launch.output_type = data_type(x);
  launch.sizes = sizes;
  launch.x = {x.const_data_ptr(), grid_strides(x)};
  launch.out = {out.mutable_data_ptr(), grid_strides(out)};
  launch.parameters = parameters_of(taps, bias, options);
  run_on_stream(kOp, x, [&](const Stream& stream) { launch_convolution(launch, stream); });
  return out;
}

DepthwiseConvGradients depthwise_conv3x3_backward(const at::Tensor& x, const at::Tensor& taps,
                                                  const at::Tensor& bias,
                                                  const DepthwiseConvOptions& options,
                                                  const at::Tensor& dout) {
  constexpr std::int64_t kSums = 10;  // nine taps and the bias
  const ConvolutionSizes sizes = sizes_of(x, options);
  const std::int64_t chunks = tap_sum_chunks(sizes);
  const at::Tensor sums = at::empty({sizes.batch, chunks, kSums, sizes.channels}, taps.options());
  const at::Tensor totals = at::empty({kSums, sizes.channels}, taps.options());
  const at::Tensor dx = at::empty(x.sizes(), x.options());
  at::Tensor dz = dout;
  TapSumsLaunch launch;
  launch.type = data_type(x);
  launch.sizes = sizes;
  launch.x = {x.const_data_ptr(), grid_strides(x)};
  launch.dout = {dout.const_data_ptr(), grid_strides(dout)};
  launch.parameters = parameters_of(taps, bias, options);
  launch.sums = sums.mutable_data_ptr<float>();
  if (options.activation != Activation::none) {
    dz = at::empty(dout.sizes(), taps.options());
    launch.dz = dz.mutable_data_ptr<float>();
  }
  run_on_stream(kOp, x, [&](const Stream& stream) {
    launch_tap_sums(launch, stream);
    launch_chunk_total({sums.const_data_ptr<float>(), totals.mutable_data_ptr<float>(), 1,
                        sizes.batch * chunks, kSums * sizes.channels, kSums * sizes.channels},
                       stream);
    launch_input_gradient(dz, dx, launch.parameters, sizes, stream);
  });
  return {dx, totals.narrow(0, 0, 9).view({3, 3, sizes.channels}), totals[9]};
}

}  // namespace ttt::ops::cuda
