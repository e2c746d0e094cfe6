// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/backends.h"

namespace ttt::ops::cuda {

std::vector<at::ScalarType> linear_dtypes() {
  return {};
}

void linear(const LinearRows&, const at::Tensor&, const LinearTail&, const at::Tensor&) {
  throw_no_cuda("linear");
}
LinearGradients linear_backward(const LinearSaved&, const at::Tensor&, const LinearNeeds&) {
  throw_no_cuda("linear");
}

}  // namespace ttt::ops::cuda
