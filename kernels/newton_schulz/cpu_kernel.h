// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What happens to a tile of a Newton-Schulz product while it is in the first-level cache, on plain
// pointers; one table per instruction set. A tile is a square of 64 x 64 floats.

#include <cstdint>

namespace ttt::ops {

constexpr std::int64_t kNewtonSchulzTile = 64;

/// A matrix of float; `turned`: element (row, column) lies at column * stride + row.
struct FloatMatrix {
  float* data = nullptr;
  std::int64_t stride = 0;
  bool turned = false;
};

/// sums = sum_scale * sums + add_scale * add, then to all the places that are not null.
struct NewtonSchulzTile {
  float* sums = nullptr;    ///< [64, 64], changed
  float* turned = nullptr;  ///< [64, 64], scratch
  bool bf16 = false;        ///< the factors below are bfloat16, else float
  float sum_scale = 1, add_scale = 0;
  const void* add = nullptr;  ///< [64, 64], rows add_stride apart
  std::int64_t add_stride = 0;
  bool add_bf16 = false;
  /// What lies left of the diagonal is replaced by the mirror of what lies right of it. No
  /// transpose is wanted then.
  bool symmetric = false;
  float* kept = nullptr;  ///< [64, 64]: the sums in float
  // As left factors, rows left_stride apart, and as parts of a panel (see cpu_gemm.h): the sums and
  // their transpose.
  void *left = nullptr, *left_turned = nullptr;
  std::int64_t left_stride = 0;
  void *right = nullptr, *right_turned = nullptr;
  FloatMatrix out;  ///< the first rows and columns of the sums
  std::int64_t rows = kNewtonSchulzTile, columns = kNewtonSchulzTile;
};

struct NewtonSchulzKernels {
  void (*finish)(const NewtonSchulzTile& tile);
  /// tile [64, 64] = scale * the first rows and columns of a matrix, zeros behind them. `scratch`
  /// is [64, 64].
  void (*load)(const FloatMatrix& from, std::int64_t rows, std::int64_t columns, float scale,
               float* tile, float* scratch);
  /// Sum of the squares of a matrix with adjacent columns, in double.
  double (*square_sum)(const float* from, std::int64_t stride, std::int64_t rows,
                       std::int64_t columns);
};

namespace baseline {
extern const NewtonSchulzKernels newton_schulz_kernels;
}
namespace avx2 {
extern const NewtonSchulzKernels newton_schulz_kernels;
}
namespace avx512 {
extern const NewtonSchulzKernels newton_schulz_kernels;
}

}  // namespace ttt::ops
