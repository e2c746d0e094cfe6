// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/backend.h"
#include "kernels/ttt_gated_linear/backends.h"

namespace ttt::ops::cuda {

std::vector<at::ScalarType> gated_linear_dtypes() {
  return {};
}

GatedLinearStep gated_linear_step(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                  const at::Tensor&, const RopeTable*) {
  throw_no_cuda("ttt_gated_linear");
}
GatedLinearStepGradients gated_linear_step_backward(const GatedLinearStepSaved&, const at::Tensor&,
                                                    const at::Tensor&) {
  throw_no_cuda("ttt_gated_linear");
}
void gated_linear_apply(const at::Tensor&, const at::Tensor&, const at::Tensor&, const RopeTable*,
                        const at::Tensor&) {
  throw_no_cuda("ttt_gated_linear");
}
GatedLinearApplyGradients gated_linear_apply_backward(const at::Tensor&, const at::Tensor&,
                                                      const at::Tensor&, const at::Tensor&,
                                                      const RopeTable*) {
  throw_no_cuda("ttt_gated_linear");
}

}  // namespace ttt::ops::cuda
