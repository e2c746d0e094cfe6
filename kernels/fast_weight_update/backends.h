// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every backend of the op defines. fast_weight_update.cpp brings the arguments into the form
// weight, step [batch, in, out], norms [batch, out], all contiguous and float or double.

#include "kernels/fast_weight_update/fast_weight_update.h"

#include <vector>

namespace ttt::ops {

/// Added to the length, outside the square root.
constexpr double kFastWeightEpsilon = 1e-5;

struct FastWeightUpdateGradients {
  at::Tensor dsum;  ///< of the weight, and of the step
  at::Tensor dnorms;
};

/// Gradients in the shapes and dtypes of the arguments.
struct FastWeightUpdateArgumentGradients {
  at::Tensor dweight, dstep, dnorms;
};
/// The backward pass without autograd, for callers that record themselves. Arguments are those of
/// the public function, and checked as there.
FastWeightUpdateArgumentGradients fast_weight_update_backward(const at::Tensor& weight,
                                                              const at::Tensor& step,
                                                              const at::Tensor& norms,
                                                              const at::Tensor& dout,
                                                              Backend backend);

namespace reference {
at::Tensor fast_weight_update(const at::Tensor& weight, const at::Tensor& step,
                              const at::Tensor& norms);
/// `sum` is weight + step.
FastWeightUpdateGradients fast_weight_update_backward(const at::Tensor& sum,
                                                      const at::Tensor& norms,
                                                      const at::Tensor& dout);
}  // namespace reference

namespace cpu {
at::Tensor fast_weight_update(const at::Tensor& weight, const at::Tensor& step,
                              const at::Tensor& norms);
FastWeightUpdateGradients fast_weight_update_backward(const at::Tensor& sum,
                                                      const at::Tensor& norms,
                                                      const at::Tensor& dout);
}  // namespace cpu

namespace cuda {
/// Dtypes of this build's CUDA version; empty without one.
std::vector<at::ScalarType> fast_weight_update_dtypes();
at::Tensor fast_weight_update(const at::Tensor& weight, const at::Tensor& step,
                              const at::Tensor& norms);
FastWeightUpdateGradients fast_weight_update_backward(const at::Tensor& sum,
                                                      const at::Tensor& norms,
                                                      const at::Tensor& dout);
}  // namespace cuda

}  // namespace ttt::ops
