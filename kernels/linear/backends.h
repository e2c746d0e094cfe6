// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every backend of the op defines. Arguments are checked by linear.cpp: activations are
// matrices [rows, columns] with contiguous rows; the weight [out, in] has the dtype of x or the
// accumulation dtype, and any strides; the bias [out] is contiguous in the accumulation dtype, or
// undefined.

#include "kernels/linear/feed_forward.h"
#include "kernels/linear/linear.h"

#include <optional>
#include <vector>

namespace ttt::ops {

/// The left factor: rows of activations, as they are or normalised while they are read. The norm's
/// weight and bias are contiguous in the accumulation dtype.
struct LinearRows {
  at::Tensor x;
  LinearNorm norm = {};
};

/// What is done with the sums x Wt.
struct LinearTail {
  at::Tensor bias;
  LinearActivation activation = LinearActivation::none;
  at::Tensor residual;  ///< [rows, out] or undefined
  at::Tensor before;    ///< takes x Wt + b in the dtype of x, for the backward pass; or undefined
};

struct LinearSaved {
  at::Tensor x, weight;
  at::Tensor before;  ///< x Wt + b in the dtype of x; undefined without activation
  LinearActivation activation = LinearActivation::none;
};

struct LinearGradients {
  at::Tensor dx;              ///< in the dtype of x; undefined if not needed
  at::Tensor dweight, dbias;  ///< in the accumulation dtype
};

/// Which gradients a backward pass computes; that of the bias comes with that of the weight.
struct LinearNeeds {
  bool x = true, weight = true;
};

/// What a pair of maps writes, [rows, ...].
struct FeedForwardResult {
  at::Tensor out;
  at::Tensor residual;  ///< [rows, out] or undefined
  at::Tensor before;    ///< as LinearTail::before, of the first map
};

struct FeedForwardSaved {
  at::Tensor x, first_weight, second_weight;
  at::Tensor before;
  LinearActivation activation = LinearActivation::none;
};

struct FeedForwardNeeds {
  bool x = true, first = true, second = true;
};

/// x in its own dtype, the others in the accumulation dtype; undefined if not needed.
struct FeedForwardGradients {
  at::Tensor x;
  at::Tensor first_weight, first_bias;
  at::Tensor second_weight, second_bias;
};

namespace reference {
void linear(const LinearRows& rows, const at::Tensor& weight, const LinearTail& tail,
            const at::Tensor& out);
LinearGradients linear_backward(const LinearSaved& saved, const at::Tensor& dout,
                                const LinearNeeds& needs);
}  // namespace reference

namespace cpu {
/// A weight for activations of this dtype: [panels, panel_elements(in)].
at::Tensor pack_linear(const at::Tensor& weight, at::ScalarType dtype);
/// Whether panels were made for the instruction set in use.
bool fits_linear(const at::Tensor& panels, at::ScalarType dtype);
void linear_packed(const LinearRows& rows, const at::Tensor& panels, const LinearTail& tail,
                   const at::Tensor& out);
void linear(const LinearRows& rows, const at::Tensor& weight, const LinearTail& tail,
            const at::Tensor& out);
LinearGradients linear_backward(const LinearSaved& saved, const at::Tensor& dout,
                                const LinearNeeds& needs);
/// The hidden layer exists for some rows at a time; its values are bit for bit those of linear().
void feed_forward(const at::Tensor& x, const FeedForwardMaps& maps, const FeedForwardResult& to);
/// The hidden layer is computed again from `before`.
FeedForwardGradients feed_forward_backward(const FeedForwardSaved& saved, const at::Tensor& dout,
                                           const FeedForwardNeeds& needs);
}  // namespace cpu

namespace cuda {
/// Dtypes of this build's CUDA version; empty without one.
std::vector<at::ScalarType> linear_dtypes();
void linear(const LinearRows& rows, const at::Tensor& weight, const LinearTail& tail,
            const at::Tensor& out);
LinearGradients linear_backward(const LinearSaved& saved, const at::Tensor& dout,
                                const LinearNeeds& needs);
}  // namespace cuda

/// The op without autograd, for callers that record themselves: the result, and x Wt + b for the
/// backward pass (an empty tensor without activation).
std::pair<at::Tensor, at::Tensor> linear_forward(const at::Tensor& x, const at::Tensor& weight,
                                                 const at::Tensor& bias, const LinearFusion& fusion,
                                                 Backend backend);
/// Gradients in the shapes and dtypes of the arguments; dbias [out] is there with or without a
/// bias, in the dtype of the weight. `before` is what linear_forward returned.
LinearGradients linear_backward(const LinearSaved& saved, const at::Tensor& dout, Backend backend);

}  // namespace ttt::ops
