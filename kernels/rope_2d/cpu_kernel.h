// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The vectorised inner loop of the rotation, on plain pointers; one table per instruction set.

#include <cstdint>

namespace ttt::ops {

/// One row of the grid: `tokens` tokens of 2 * `half` channels, strides in elements; out may be x.
/// Factors are laid out per channel of a half: cosines (c, c) and sines (-s, s) of every pair.
struct RopeRow {
  const void* x;
  std::int64_t x_stride;
  void* out;
  std::int64_t out_stride;
  std::int64_t tokens, half;
  const float *row_cosine, *row_sine;        ///< [half], for the first half of every token
  const float *column_cosine, *column_sine;  ///< [tokens][half], for the second half
};

/// The same factors of a whole grid, for tokens of 2 * `half` channels.
struct RopeAngles {
  const float *row_cosine, *row_sine;        ///< [height][half]
  const float *column_cosine, *column_sine;  ///< [width][half]
  std::int64_t width, half;
};

struct RopeKernels {
  void (*rotate_float)(const RopeRow& row);
  void (*rotate_bf16)(const RopeRow& row);
};

namespace baseline {
extern const RopeKernels rope_kernels;
}
namespace avx2 {
extern const RopeKernels rope_kernels;
}
namespace avx512 {
extern const RopeKernels rope_kernels;
}

}  // namespace ttt::ops
