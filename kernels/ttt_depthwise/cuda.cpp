// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ttt_depthwise/cuda.h"

#include "kernels/depthwise_conv3x3/cuda.h"
#include "kernels/support/cuda_tensors.h"
#include "kernels/ttt_depthwise/backends.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

namespace ttt::ops::cuda {
namespace {

constexpr std::string_view kOp = "ttt_depthwise";

ConvolutionSizes sizes_of(const at::Tensor& x) {
  return {x.size(0), x.size(1), x.size(2), x.size(3), 1};
}

/// -1/(3hw), the slope of the loss
float slope(const at::Tensor& x) {
  const auto count = static_cast<float>(x.size(1) * x.size(2));
  return count > 0 ? -1 / (3 * count) : 0;
}

/// Sums [B, chunks, 10, d] of launch_tap_sums.
at::Tensor tap_sums(const at::Tensor& x, const at::Tensor& dout, at::ScalarType dtype,
                    const Stream& stream) {
  const ConvolutionSizes sizes = sizes_of(x);
  const at::Tensor sums =
      at::empty({sizes.batch, tap_sum_chunks(sizes), 10, sizes.channels}, x.options().dtype(dtype));
  TapSumsLaunch launch;
  launch.type = data_type(x);
  launch.sizes = sizes;
  launch.x = {x.const_data_ptr(), grid_strides(x)};
  launch.dout = {dout.const_data_ptr(), grid_strides(dout)};
  launch.sums = sums.mutable_data_ptr<float>();
  launch_tap_sums(launch, stream);
  return sums;
}

/// Correlates every sample of x with its own kernels, turned by 180 degrees or not.
void correlate(const at::Tensor& x, const at::Tensor& kernels, bool flip, const at::Tensor& out,
               const Stream& stream) {
  ConvolutionLaunch launch;
  launch.input_type = launch.output_type = data_type(x);
  launch.sizes = sizes_of(x);
  launch.x = {x.const_data_ptr(), grid_strides(x)};
  launch.out = {out.mutable_data_ptr(), grid_strides(out)};
  launch.parameters.taps = kernels.const_data_ptr<float>();
  launch.parameters.taps_batch_stride = 9 * x.size(3);
  launch.flip = flip;
  launch_convolution(launch, stream);
}

}  // namespace

std::vector<at::ScalarType> depthwise_dtypes() {
  return {at::kFloat, at::kBFloat16};
}

DepthwiseStep depthwise_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3) {
  const at::Tensor kernels = at::empty({k.size(0), 3, 3, k.size(3)}, w3.options());
  const at::Tensor gradient = at::empty_like(kernels);
  run_on_stream(kOp, k, [&](const Stream& stream) {
    const at::Tensor sums = tap_sums(k, v, w3.scalar_type(), stream);
    launch_depthwise_clip({sums.const_data_ptr<float>(), sums.size(0), sums.size(1), sums.size(3),
                           slope(k), w3.const_data_ptr<float>(), kernels.mutable_data_ptr<float>(),
                           gradient.mutable_data_ptr<float>()},
                          stream);
  });
  return {kernels, gradient};
}

DepthwiseStepGradients depthwise_step_backward(const at::Tensor& k, const at::Tensor& v,
                                               const at::Tensor& gradient,
                                               const at::Tensor& dkernels) {
  const at::Tensor factors = at::empty_like(gradient);
  const at::Tensor dk = at::empty(k.sizes(), k.options()), dv = at::empty(v.sizes(), v.options());
  run_on_stream(kOp, k, [&](const Stream& stream) {
    launch_depthwise_factors({gradient.const_data_ptr<float>(), dkernels.const_data_ptr<float>(),
                              k.size(0), k.size(3), slope(k), factors.mutable_data_ptr<float>()},
                             stream);
    correlate(k, factors, false, dv, stream);
    correlate(v, factors, true, dk, stream);
  });
  return {dk, dv};
}

void depthwise_apply(const at::Tensor& q, const at::Tensor& kernels, const at::Tensor& out) {
  run_on_stream(kOp, q, [&](const Stream& stream) { correlate(q, kernels, false, out, stream); });
}

DepthwiseApplyGradients depthwise_apply_backward(const at::Tensor& q, const at::Tensor& kernels,
                                                 const at::Tensor& dout) {
  const at::Tensor dq = at::empty(q.sizes(), q.options()), dkernels = at::empty_like(kernels);
  run_on_stream(kOp, q, [&](const Stream& stream) {
    const at::Tensor sums = tap_sums(q, dout, kernels.scalar_type(), stream);
    launch_chunk_total({sums.const_data_ptr<float>(), dkernels.mutable_data_ptr<float>(), q.size(0),
                        sums.size(1), 10 * q.size(3), 9 * q.size(3)},
                       stream);
    correlate(dout, kernels, true, dq, stream);
  });
  return {dq, dkernels};
}

}  // namespace ttt::ops::cuda
