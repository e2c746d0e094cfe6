// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The vectorised inner loops of the CPU version, on plain pointers; one table per instruction set.
//
// Pairs of d x d matrices are packed side by side, vector by vector: row i holds
// [a[i, 0:L] | b[i, 0:L] | a[i, L:2L] | b[i, L:2L] | ...], L = lanes, zero-padded to
// 2 * padded columns (padded = d rounded up to L). Products with a packed pair have the same
// columns.

#include "kernels/rope_2d/cpu_kernel.h"

#include <cstdint>

namespace ttt::ops {

/// `rows` tokens of one head in float, `stride` elements apart, d channels each.
struct TokenTile {
  const float* data;
  std::int64_t stride;
  std::int64_t rows;
  std::int64_t d;
};

/// The same rows in the dtype of the tensor (bfloat16 or float).
struct TokenRows {
  void* data;
  std::int64_t stride;
  bool bf16;
};

struct ConstTokenRows {
  const void* data;
  std::int64_t stride;
  bool bf16;
};

/// `count` of them, d channels each.
struct ConstTokens {
  ConstTokenRows rows;
  std::int64_t count, d;
};

/// Where a head's tokens lie in the grid: its first channel, and the first token.
struct HeadRotation {
  RopeAngles angles;
  std::int64_t channel, token;
};

/// Packed values of one head that the clipped step joins, and where its results go ([d, d] each).
struct GatedLinearFinish {
  const float* packed_weights;
  const float* packed_sums;
  float scale;  ///< -1/(3N)
  std::int64_t d;
  float *w1, *w2, *g1, *g2;
};

/// Elementwise part of the step's backward for one tile; pairs are [rows][2 * padded].
struct StepBackwardTile {
  std::int64_t rows, d;
  float scale;     ///< -1/(3N)
  const float* z;  ///< k w1 | k w2
  float* dp;       ///< in: k dG1 | k dG2; out: P1 | P2
  float* dz;       ///< out: dZ1 | dZ2
};

/// Gradient of the raw g of w - g / (||g|| + 1), given that of the result; [d, d] each.
struct ClipBackward {
  const float *g, *dout;
  std::int64_t d;
  float* dg;
};

struct GatedLinearKernels {
  std::int64_t lanes;
  void (*pack)(const float* a, const float* b, std::int64_t d, float* packed);
  /// [2 * padded][padded]: the transpose, rows in the packed order.
  void (*pack_transposed)(const float* a, const float* b, std::int64_t d, float* packed);
  void (*unpack)(const float* packed, std::int64_t d, float* a, float* b);
  /// Converts bfloat16 rows to float rows d apart.
  void (*widen)(const ConstTokenRows& rows, std::int64_t count, std::int64_t d, float* out);
  /// The rows rotated, as the floats that their dtype can hold, d apart.
  void (*read_rotated)(const ConstTokens& tokens, const HeadRotation& rotation, float* out);
  /// Writes a tile rotated; it is rounded to the rows' dtype before and after.
  void (*write_rotated)(const TokenTile& tile, const HeadRotation& rotation, const TokenRows& out);
  /// Writes `count` float rows (`stride` apart) to rows of the tensor's dtype.
  void (*write)(const float* data, std::int64_t stride, std::int64_t count, std::int64_t d,
                const TokenRows& out);
  /// out [rows][2 * padded] = tile * packed
  void (*project)(const TokenTile& tile, const float* packed, float* out);
  /// p1 = v * silu(z2) | p2 = v * z1 * silu'(z2) with z = tile * packed
  void (*step_products)(const TokenTile& tile, const float* packed, const ConstTokenRows& v,
                        float* out);
  /// sums [d][2 * padded] += tile^T * pair
  void (*accumulate)(const TokenTile& tile, const float* pair, float* sums);
  /// Scales, clips and subtracts; writes weights and raw gradients.
  void (*finish)(const GatedLinearFinish& finish);
  /// out = y1 * silu(y2) with y = tile * packed
  void (*apply)(const TokenTile& tile, const float* packed, const TokenRows& out);
  /// out [rows][padded] (+)= pair [rows][2 * padded] * transposed
  void (*project_back)(const float* pair, const float* transposed, std::int64_t rows,
                       std::int64_t d, bool add, float* out);
  void (*step_backward)(const StepBackwardTile& tile, const ConstTokenRows& v, const TokenRows& dv);
  /// y (y1 | y2) becomes (dy1 | dy2)
  void (*apply_backward)(std::int64_t rows, std::int64_t d, const ConstTokenRows& dout, float* y);
  void (*clip_backward)(const ClipBackward& arguments);
};

namespace baseline {
extern const GatedLinearKernels gated_linear_kernels;
}
namespace avx2 {
extern const GatedLinearKernels gated_linear_kernels;
}
namespace avx512 {
extern const GatedLinearKernels gated_linear_kernels;
}

}  // namespace ttt::ops
