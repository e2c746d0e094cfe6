// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/cuda_types.h"

namespace ttt::ops::cuda {

/// Activations [batch, tokens, heads*width]; w0, w2 [batch, heads, width, hidden], w1
/// [batch, heads, hidden, width] of float, contiguous per sample.
struct SwigluSizes {
  std::int64_t batch = 0, tokens = 0, heads = 0, width = 0, hidden = 0;
};

/// An activation; dx and dy are written, the others read.
struct SwigluActivation {
  void* data = nullptr;
  TokenStrides strides;
};

/// The three matrices, samples `batch_stride` apart (0: shared by all).
struct SwigluWeightPointers {
  const float *w0 = nullptr, *w1 = nullptr, *w2 = nullptr;
  std::int64_t batch_stride = 0;
};
struct SwigluSumPointers {
  float *w0 = nullptr, *w1 = nullptr, *w2 = nullptr;
};

/// out = (silu(x W0) * (x W2)) W1
struct SwigluApplyLaunch {
  DataType type = DataType::float32;
  SwigluSizes sizes;
  SwigluActivation x, out;
  SwigluWeightPointers weights;
  float* workspace = nullptr;  ///< swiglu_apply_workspace(sizes) floats
};
void launch_swiglu_apply(const SwigluApplyLaunch& launch, const Stream& stream);
std::int64_t swiglu_apply_workspace(const SwigluSizes& sizes);

/// sums += X^T (eta0 Ra), (eta1 H)^T Y, X^T (eta2 Rc), and with dsums X^T dA, dR^T Y, X^T dC;
/// gradients of x (and with dsums of y and the rates) where asked for. See backends.h.
struct SwigluSumsLaunch {
  DataType type = DataType::float32;
  SwigluSizes sizes;
  SwigluActivation x, y, dx, dy;  ///< dx, dy may have no data
  const float* rates = nullptr;   ///< [batch, heads, 3, tokens]; null: all 1
  float* drates = nullptr;
  SwigluWeightPointers weights;
  SwigluWeightPointers dsums;  ///< null: none
  SwigluSumPointers sums;
  float* workspace = nullptr;  ///< swiglu_sums_workspace(sizes) floats
};
void launch_swiglu_sums(const SwigluSumsLaunch& launch, const Stream& stream);
std::int64_t swiglu_sums_workspace(const SwigluSizes& sizes, bool backward);

}  // namespace ttt::ops::cuda
