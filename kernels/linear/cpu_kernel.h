// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What happens to the sums of a linear map, on plain pointers; one table per instruction set.
// Strides are in elements; elements of a row are adjacent.

#include "kernels/linear/activation.h"

#include <cstdint>

namespace ttt::ops {

/// A matrix of float or bfloat16; null data: none.
struct LinearMatrix {
  void* data = nullptr;
  std::int64_t stride = 0;
  bool bf16 = false;
};

/// out = activation(sums + bias) [+ residual], before = sums + bias.
struct LinearTile {
  const float* sums = nullptr;
  std::int64_t sums_stride = 0;
  std::int64_t rows = 0, columns = 0;
  const float* bias = nullptr;
  LinearActivation activation = LinearActivation::none;
  LinearMatrix residual, before, out;  ///< the residual may be out
};

/// Layer norm of rows: out = (x - mean) / sqrt(variance + epsilon) * weight [+ bias].
struct LinearNormTile {
  std::int64_t rows = 0, columns = 0;
  LinearMatrix x, out;  ///< a column more of `out` gets zeros where their number is odd
  const float* weight = nullptr;
  const float* bias = nullptr;  ///< null: none
  float epsilon = 0;
};

/// out = dout * activation'(before)
struct LinearSlope {
  std::int64_t rows = 0, columns = 0;
  LinearActivation activation = LinearActivation::none;
  LinearMatrix dout, before, out;  ///< `before` is not read without activation
};

/// A hidden layer again, and its gradient, from the sums that are the gradient of its values:
/// values = activation(before), gradient = sums * activation'(before).
struct HiddenTile {
  const float* sums = nullptr;
  std::int64_t sums_stride = 0;
  std::int64_t rows = 0, columns = 0;
  LinearActivation activation = LinearActivation::none;
  LinearMatrix before, values, gradient;
};

/// out [columns, rows] = sums transposed, or added to it.
struct LinearTurnedTile {
  const float* sums = nullptr;
  std::int64_t sums_stride = 0;
  std::int64_t rows = 0, columns = 0;
  float* out = nullptr;
  std::int64_t out_stride = 0;
  bool add = false;
};

struct LinearKernels {
  void (*finish)(const LinearTile& tile);
  void (*slope)(const LinearSlope& slope);
  void (*normalise)(const LinearNormTile& tile);
  /// Adds the sums of a matrix's columns to sums [columns].
  void (*add_column_sums)(const LinearMatrix& matrix, std::int64_t rows, std::int64_t columns,
                          float* sums);
  void (*finish_hidden)(const HiddenTile& tile);
  void (*write_transposed)(const LinearTurnedTile& tile);
};

namespace baseline {
extern const LinearKernels linear_kernels;
}
namespace avx2 {
extern const LinearKernels linear_kernels;
}
namespace avx512 {
extern const LinearKernels linear_kernels;
}

}  // namespace ttt::ops
