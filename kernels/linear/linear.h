// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/linear/activation.h"
#include "kernels/support/backend.h"

#include <ATen/core/Tensor.h>

namespace ttt::ops {

/// Layer norm of the rows of x before they are multiplied:
/// (x - mean) / sqrt(variance + epsilon) * weight [+ bias].
struct LinearNorm {
  at::Tensor weight = {};  ///< [in], in the dtype of x or in float; undefined: no norm
  at::Tensor bias = {};    ///< [in] as well, or undefined
  double epsilon = 1e-5;
  bool defined() const { return weight.defined(); }
};

/// What is fused with a linear map.
struct LinearFusion {
  LinearActivation activation = LinearActivation::none;
  /// Added last; [..., out] as the result, in the dtype of x or in float, whose dtype the result
  /// then has. Undefined: nothing.
  at::Tensor residual = {};
  LinearNorm norm = {};
};

/// y = activation(norm(x) Wt + b) [+ residual] on the last axis.
/// x [..., in], any strides; weight [out, in], bias [out] or undefined, each in the dtype of x or
/// in float -> [..., out] in the dtype of x, or of the residual. Factors are multiplied in the
/// dtype of x, sums run in float (double for double). Under autocast x is converted as at::linear
/// does. Differentiable in x, the parameters and the residual; where gradients are recorded the
/// normalised x is stored. Throws Error(usage) on shapes that don't
/// fit and Error(device) as `resolve` does.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {},
                  const LinearFusion& fusion = {}, Backend backend = Backend::automatic);

/// The parameters of a linear map, laid out once for many calls without gradients. The tensors it
/// was made from must not change in place afterwards: some of them are copied, others shared.
class PackedLinear {
 public:
  PackedLinear() = default;
  /// For activations of `dtype`; weight [out, in], bias [out] or undefined. Throws Error(usage) on
  /// shapes that don't fit.
  PackedLinear(const at::Tensor& weight, const at::Tensor& bias, at::ScalarType dtype);

  bool defined() const { return weight_.defined(); }
  at::ScalarType dtype() const { return dtype_; }
  std::int64_t in() const { return weight_.size(1); }
  std::int64_t out() const { return weight_.size(0); }
  const at::Tensor& weight() const { return weight_; }  ///< [out, in] in the dtype
  const at::Tensor& bias() const { return bias_; }
  /// The layout of the CPU version for the instruction set it was made under; undefined where that
  /// has none (double, half, other devices).
  const at::Tensor& panels() const { return panels_; }

 private:
  at::Tensor weight_, bias_, panels_;
  at::ScalarType dtype_ = at::kFloat;
};

/// The same with packed parameters; records no gradients. x has the dtype that they are for.
at::Tensor linear(const at::Tensor& x, const PackedLinear& map, const LinearFusion& fusion = {},
                  Backend backend = Backend::automatic);

/// Writes into `out` [..., out], whose rows are evenly spaced; it has the dtype of x, or of the
/// residual, and may be the residual itself, but must not overlap what else is read. Throws
/// Error(usage) when gradients would be recorded.
void linear_out(const at::Tensor& x, const PackedLinear& map, const LinearFusion& fusion,
                const at::Tensor& out, Backend backend = Backend::automatic);

/// The same with a weight without bias, which is laid out in each call.
void linear_out(const at::Tensor& x, const at::Tensor& weight, const LinearFusion& fusion,
                const at::Tensor& out, Backend backend = Backend::automatic);

}  // namespace ttt::ops
