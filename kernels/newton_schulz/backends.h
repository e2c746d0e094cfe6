// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every backend of the op defines. newton_schulz.cpp brings g into the form
// [batch, m, n], m <= n, any strides, float or double.

#include "kernels/newton_schulz/newton_schulz.h"

namespace ttt::ops {

/// Added to the norm, outside the square root.
constexpr double kNewtonSchulzEpsilon = 1e-7;

/// The backward pass without autograd, for callers that record themselves: the gradient of g, in
/// its shape and dtype. Arguments are checked as newton_schulz() does.
at::Tensor newton_schulz_backward(const at::Tensor& g, const NewtonSchulzOptions& options,
                                  const at::Tensor& dout, Backend backend);

namespace reference {
at::Tensor newton_schulz(const at::Tensor& g, const NewtonSchulzOptions& options);
/// dg, given that of the result.
at::Tensor newton_schulz_backward(const at::Tensor& g, const NewtonSchulzOptions& options,
                                  const at::Tensor& dx);
}  // namespace reference

namespace cpu {
at::Tensor newton_schulz(const at::Tensor& g, const NewtonSchulzOptions& options);
at::Tensor newton_schulz_backward(const at::Tensor& g, const NewtonSchulzOptions& options,
                                  const at::Tensor& dx);
}  // namespace cpu

namespace cuda {
/// Dtypes of this build's CUDA version; empty without one.
std::vector<at::ScalarType> newton_schulz_dtypes();
at::Tensor newton_schulz(const at::Tensor& g, const NewtonSchulzOptions& options);
at::Tensor newton_schulz_backward(const at::Tensor& g, const NewtonSchulzOptions& options,
                                  const at::Tensor& dx);
}  // namespace cuda

}  // namespace ttt::ops
