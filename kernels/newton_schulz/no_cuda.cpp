// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/newton_schulz/backends.h"
#include "kernels/support/backend.h"

namespace ttt::ops::cuda {

std::vector<at::ScalarType> newton_schulz_dtypes() {
  return {};
}

at::Tensor newton_schulz(const at::Tensor&, const NewtonSchulzOptions&) {
  throw_no_cuda("newton_schulz");
}
at::Tensor newton_schulz_backward(const at::Tensor&, const NewtonSchulzOptions&,
                                  const at::Tensor&) {
  throw_no_cuda("newton_schulz");
}

}  // namespace ttt::ops::cuda
