// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/fast_weight_update/backends.h"
#include "kernels/support/backend.h"

namespace ttt::ops::cuda {

std::vector<at::ScalarType> fast_weight_update_dtypes() {
  return {};
}

at::Tensor fast_weight_update(const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  throw_no_cuda("fast_weight_update");
}
FastWeightUpdateGradients fast_weight_update_backward(const at::Tensor&, const at::Tensor&,
                                                      const at::Tensor&) {
  throw_no_cuda("fast_weight_update");
}

}  // namespace ttt::ops::cuda
