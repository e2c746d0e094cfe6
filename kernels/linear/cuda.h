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
};

/// out = activation(sums + bias) [+ residual], before = sums + bias; sums and before have one type.
struct LinearFinishLaunch {
  std::int64_t rows = 0, columns = 0;
  LinearActivation activation = LinearActivation::none;
  const float* bias = nullptr;
  LinearMatrix sums, before, residual, out;  ///< the residual may be out
};
void launch_linear_finish(const LinearFinishLaunch& launch, const Stream& stream);

/// out = dout * activation'(before)
struct LinearSlopeLaunch {
  std::int64_t rows = 0, columns = 0;
  LinearActivation activation = LinearActivation::none;
  LinearMatrix dout, before, out;
};
void launch_linear_slope(const LinearSlopeLaunch& launch, const Stream& stream);

}  // namespace ttt::ops::cuda
