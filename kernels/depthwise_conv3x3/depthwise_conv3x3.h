// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/backend.h"

#include <ATen/core/Tensor.h>

namespace ttt::ops {

enum class Activation { none, relu, gelu };  ///< gelu: the exact form with erf

struct DepthwiseConvOptions {
  std::int64_t stride = 1;                   ///< 1 or 2
  bool add_input = false;                    ///< adds x to the convolution (stride 1 only)
  Activation activation = Activation::none;  ///< last
};

/// Depthwise 3x3 convolution, channels last, zero padding 1, with what follows it fused:
///   y = activation([x +] conv(x, weight) + bias)
/// ViT3's position encoding is add_input; H-ViT3's MLP is add_input and gelu; its patch merging is
/// stride 2 and relu.
/// x [B, h, w, C], any strides with a contiguous last dimension; weight [C, 1, 3, 3], bias [C] or
/// undefined, each in the dtype of x or in float -> [B, ceil(h/stride), ceil(w/stride), C] in x's
/// dtype. Sums run in float (double for double). Differentiable in x, weight, bias. Throws
/// Error(usage) on shapes that don't fit and Error(device) as `resolve` does.
at::Tensor depthwise_conv3x3(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                             const DepthwiseConvOptions& options = {},
                             Backend backend = Backend::automatic);

/// The parameters of a convolution, laid out once for many calls without gradients. The tensors it
/// was made from must not change in place afterwards: some of them are copied, others shared.
class PackedDepthwiseConv {
 public:
  PackedDepthwiseConv() = default;
  /// For activations of `dtype`; weight [C, 1, 3, 3], bias [C] or undefined. Throws Error(usage) on
  /// shapes that don't fit.
  PackedDepthwiseConv(const at::Tensor& weight, const at::Tensor& bias, at::ScalarType dtype);

  bool defined() const { return weight_.defined(); }
  at::ScalarType dtype() const { return dtype_; }
  const at::Tensor& weight() const { return weight_; }  ///< [C, 1, 3, 3] in the dtype
  const at::Tensor& taps() const { return taps_; }      ///< [3, 3, C] in the accumulation dtype
  const at::Tensor& bias() const { return bias_; }      ///< [C] in the accumulation dtype

 private:
  at::Tensor weight_, taps_, bias_;
  at::ScalarType dtype_ = at::kFloat;
};

/// The same with packed parameters; records no gradients. x has the dtype that they are for.
at::Tensor depthwise_conv3x3(const at::Tensor& x, const PackedDepthwiseConv& convolution,
                             const DepthwiseConvOptions& options = {},
                             Backend backend = Backend::automatic);

/// Some rows of grids that lie one below the other, as in a batch of pictures, and their
/// neighbours.
struct DepthwiseConvRows {
  at::Tensor x;             ///< [n + 2, w, C], rows first - 1 to first + n
  std::int64_t first = 0;   ///< counted from the top of the first grid
  std::int64_t height = 0;  ///< rows of a grid: a row of another one counts as zeros
};

/// Writes rows first to first + n - 1 of the result into `out` [n, w, C], which doesn't overlap x;
/// with stride 1, on the CPU backend, without gradients. For callers that compute x as it is
/// needed. Throws Error(usage) on shapes that don't fit.
void depthwise_conv3x3_rows(const DepthwiseConvRows& rows, const PackedDepthwiseConv& convolution,
                            const DepthwiseConvOptions& options, const at::Tensor& out);

}  // namespace ttt::ops
