// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/linear/activation.h"
#include "kernels/support/cuda_types.h"

namespace ttt::ops::cuda {

/// A matrix with adjacent elements in its rows; null data: none.
struct LinearMatrix {
  void* data = nullptr;
  std::int64_t stride = 0;
  DataType type = DataType::float32;
  bool aligned = false;  ///< four elements from the start of a row on may be read at once
};

/// (x - mean) / sqrt(variance + epsilon) * weight [+ bias] of every row of x; null weight: x
/// itself.
struct LinearNormLaunch {
  const float* weight = nullptr;
  const float* bias = nullptr;
  float epsilon = 0;
};

/// before = norm(x) Wt + bias, out = activation(before) [+ residual]. x [rows, depth], weight
/// [columns, depth]. Factors are multiplied as `factors` says, which is the type of x, `before` has
/// it too; sums are float. Their order depends on the depth alone.
struct LinearLaunch {
  DataType factors = DataType::float32;
  std::int64_t rows = 0, columns = 0, depth = 0;
  LinearMatrix x, weight;
  LinearNormLaunch norm;
  const float* bias = nullptr;
  LinearActivation activation = LinearActivation::none;
  LinearMatrix before, residual, out;  ///< the residual may be out
};
void launch_linear(const LinearLaunch& launch, const Stream& stream);

/// out = dout * activation'(before)
struct LinearSlopeLaunch {
  std::int64_t rows = 0, columns = 0;
  LinearActivation activation = LinearActivation::none;
  LinearMatrix dout, before, out;
};
void launch_linear_slope(const LinearSlopeLaunch& launch, const Stream& stream);

}  // namespace ttt::ops::cuda
