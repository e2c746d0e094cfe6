// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Products of tiles, for all layouts of the factors, against loops in double.
#include "kernels/support/cuda_tile.cuh"

#include <gtest/gtest.h>

#include <vector>

namespace ttt::ops::cuda {
namespace {

constexpr int kRows = 16, kDepth = 32;

struct Operands {
  std::vector<float> a, b;  // [kRows, kDepth], [kDepth, columns]
};

Operands made_up(int columns, bool round) {
  Operands operands{std::vector<float>(kRows * kDepth), std::vector<float>(kDepth * columns)};
  std::uint32_t state = 1;
  for (std::vector<float>* values : {&operands.a, &operands.b})
    for (float& value : *values) {
      state = state * 1664525U + 1013904223U;
      value = static_cast<float>(state >> 8) / 8388608.0F - 1;
      if (round) value = to_float(from_float<Bfloat16>(value));
    }
  return operands;
}

/// Fills a matrix [rows, columns] in shared memory, or its transpose.
template <typename T, int kParts>
void fill(const SharedMatrix<T, kParts>& matrix, const std::vector<float>& values, int rows,
          int columns, Layout layout) {
  for (int i = static_cast<int>(threadIdx.x); i < rows * columns; i += 32) {
    const int row = i / columns, column = i % columns;
    const float one[1] = {values[i]};
    layout == Layout::plain ? matrix.set(row, column, one) : matrix.set(column, row, one);
  }
}

/// The tile's product with the second warp row of A, so that `first_row` counts.
template <typename T, int kColumns, Layout kA, Layout kB, int kPartsA, int kPartsB>
double largest_error(bool round) {
  const Operands in = made_up(kColumns, round);
  std::vector<double> sums(kRows * kColumns, 0.0);
  for (int i = 0; i < kRows; ++i)
    for (int k = 0; k < kDepth; ++k)
      for (int j = 0; j < kColumns; ++j)
        sums[i * kColumns + j] +=
            static_cast<double>(in.a[i * kDepth + k]) * in.b[k * kColumns + j];
  std::vector<float> out(kRows * kColumns, 1e9F);
  constexpr int kStride = 136, kPart = 32 * kStride * 4;
  run_grid({1}, {32}, 90 * 1024, [&] {
    const SharedMatrix<T, kPartsA> a{dynamic_shared<T>(0), kStride, 32 * kStride};
    const SharedMatrix<T, kPartsB> b{dynamic_shared<T>(kPart), kStride, 128 * kStride};
    // Rows 16.. of a matrix whose first 16 belong to another warp.
    const SharedMatrix<T, kPartsA> second{a.data + (kA == Layout::plain ? 16 * kStride : 16),
                                          kStride, a.part_stride};
    fill(second, in.a, kRows, kDepth, kA);
    fill(b, in.b, kDepth, kColumns, kB);
    __syncwarp();
    Tile<T, kColumns, kA, kB> tile;
    clear(tile);
    tile.add_product(a, 16, b, kDepth);
    for (int run = 0; run < tile.kRuns; ++run)
      for (int j = 0; j < tile.kRunLength; ++j)
        out[tile.row(run) * kColumns + tile.column(run) + j] = tile.values[run][j];
  });
  double error = 0;
  for (std::size_t i = 0; i < out.size(); ++i) error = std::max(error, std::abs(out[i] - sums[i]));
  return error;
}

constexpr Layout kPlain = Layout::plain, kTransposed = Layout::transposed;

TEST(Tile, Float) {
  constexpr double kTolerance = 1e-5;
  EXPECT_LT((largest_error<float, 32, kPlain, kPlain, 1, 1>(false)), kTolerance);
  EXPECT_LT((largest_error<float, 16, kPlain, kPlain, 1, 1>(false)), kTolerance);
  EXPECT_LT((largest_error<float, 32, kTransposed, kPlain, 1, 1>(false)), kTolerance);
  EXPECT_LT((largest_error<float, 80, kPlain, kTransposed, 1, 1>(false)), kTolerance);
}

TEST(Tile, Bfloat16IsExactForExactFactors) {
  constexpr double kTolerance = 1e-5;
  EXPECT_LT((largest_error<Bfloat16, 32, kPlain, kPlain, 1, 1>(true)), kTolerance);
  EXPECT_LT((largest_error<Bfloat16, 16, kPlain, kPlain, 1, 1>(true)), kTolerance);
  EXPECT_LT((largest_error<Bfloat16, 32, kTransposed, kPlain, 1, 1>(true)), kTolerance);
  EXPECT_LT((largest_error<Bfloat16, 80, kPlain, kTransposed, 1, 1>(true)), kTolerance);
}

TEST(Tile, TwoPartsKeepSixteenBitsOfFloatFactors) {
  // 32 terms below 1, each with an error of up to two factors' 2^-17.
  constexpr double kTolerance = 32 * 2.0 / 131072;
  EXPECT_LT((largest_error<Bfloat16, 32, kPlain, kPlain, 2, 2>(false)), kTolerance);
  EXPECT_LT((largest_error<Bfloat16, 64, kPlain, kTransposed, 2, 2>(false)), kTolerance);
  // One part alone has eight.
  EXPECT_GT((largest_error<Bfloat16, 32, kPlain, kPlain, 1, 1>(false)), 1e-3);
}

}  // namespace
}  // namespace ttt::ops::cuda
