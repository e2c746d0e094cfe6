// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope_2d/backends.h"

namespace ttt::ops::cuda {

std::vector<at::ScalarType> rope_2d_dtypes() {
  return {};
}

void rope_2d(const at::Tensor&, const RopeTable&, bool, const at::Tensor&) {
  throw_no_cuda("rope_2d");
}

}  // namespace ttt::ops::cuda
