// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise_conv3x3/cpu_grid.h"
#include "kernels/ttt_depthwise/backends.h"

#include <ATen/ATen.h>

namespace ttt::ops::cpu {
namespace {

/// -1/(3hw), the slope of the loss.
double slope(const at::Tensor& grid) {
  const double count = static_cast<double>(grid.size(1) * grid.size(2));
  return count > 0 ? -1.0 / (3.0 * count) : 0.0;
}

/// The nine tap sums [B, 3, 3, d] of pad1(x) * factor.
at::Tensor nine_tap_sums(const at::Tensor& x, const at::Tensor& factor) {
  return tap_sums_grid(x, factor, 1).narrow(1, 0, 9).unflatten(1, {3, 3});
}

/// Norm over the nine taps, [B, 1, 1, d].
at::Tensor norm_of_taps(const at::Tensor& gradient) {
  return gradient.square().sum({1, 2}, true).sqrt_();
}

at::Tensor flipped(const at::Tensor& kernels) {
  return kernels.flip({1, 2}).contiguous();
}

}  // namespace

// The kernels are tiny (9 d floats per sample), so their clip is left to ATen.

DepthwiseStep depthwise_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3) {
  const at::Tensor gradient = (nine_tap_sums(k, v) * slope(k)).contiguous();
  const at::Tensor weight = w3.squeeze(1).permute({1, 2, 0});  // [3, 3, d]
  const at::Tensor kernels = weight - gradient / (norm_of_taps(gradient) + 1);
  return {kernels.contiguous(), gradient};
}

DepthwiseStepGradients depthwise_step_backward(const at::Tensor& k, const at::Tensor& v,
                                               const at::Tensor& gradient,
                                               const at::Tensor& dkernels) {
  const at::Tensor norm = norm_of_taps(gradient), divisor = norm + 1;
  const at::Tensor dot = (gradient * dkernels).sum({1, 2}, true).neg_();  // <g, dh>, dh = -dkernels
  const at::Tensor along =
      at::where(norm > 0, dot / (norm * divisor * divisor), at::zeros({}, norm.options()));
  const at::Tensor dg = ((-dkernels / divisor - gradient * along) * slope(k)).contiguous();
  const at::Tensor dk = at::empty(k.sizes(), k.options()), dv = at::empty(v.sizes(), v.options());
  correlate_grid(k, dg, {}, {}, {}, dv);
  correlate_grid(v, flipped(dg), {}, {}, {}, dk);
  return {dk, dv};
}

void depthwise_apply(const at::Tensor& q, const at::Tensor& kernels, const at::Tensor& out) {
  correlate_grid(q, kernels, {}, {}, {}, out);
}

DepthwiseApplyGradients depthwise_apply_backward(const at::Tensor& q, const at::Tensor& kernels,
                                                 const at::Tensor& dout) {
  const at::Tensor dq = at::empty(q.sizes(), q.options());
  correlate_grid(dout, flipped(kernels), {}, {}, {}, dq);
  return {dq, nine_tap_sums(q, dout).contiguous()};
}

}  // namespace ttt::ops::cpu
