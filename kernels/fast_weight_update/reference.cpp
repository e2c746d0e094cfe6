// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/fast_weight_update/backends.h"

#include <ATen/ATen.h>

namespace ttt::ops::reference {
namespace {

/// ||sum[:, j]||, [batch, 1, out].
at::Tensor lengths(const at::Tensor& sum) {
  return sum.square().sum({1}, true).sqrt();
}

}  // namespace

at::Tensor fast_weight_update(const at::Tensor& weight, const at::Tensor& step,
                              const at::Tensor& norms) {
  const at::Tensor sum = weight.to(at::kDouble) + step.to(at::kDouble);
  const at::Tensor scaled =
      sum / (lengths(sum) + kFastWeightEpsilon) * norms.to(at::kDouble).unsqueeze(1);
  return scaled.to(weight.scalar_type());
}

FastWeightUpdateGradients fast_weight_update_backward(const at::Tensor& sum,
                                                      const at::Tensor& norms,
                                                      const at::Tensor& dout) {
  const at::Tensor s = sum.to(at::kDouble), d = dout.to(at::kDouble);
  const at::Tensor target = norms.to(at::kDouble).unsqueeze(1);
  const at::Tensor length = lengths(s), divisor = length + kFastWeightEpsilon;
  const at::Tensor dot = (s * d).sum({1}, true);
  const at::Tensor along = at::where(length > 0, dot * target / (divisor * divisor * length),
                                     at::zeros({}, s.options()));
  const at::Tensor dsum = d * target / divisor - s * along;
  return {dsum.to(sum.scalar_type()), (dot / divisor).squeeze(1).to(norms.scalar_type())};
}

}  // namespace ttt::ops::reference
