// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The products of linear maps and of their gradients on the CPU, a tile of sums at a time.

#include "kernels/linear/backends.h"
#include "kernels/linear/cpu_kernel.h"
#include "kernels/support/cpu_gemm.h"
#include "kernels/support/scratch.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ttt::ops::cpu {

// A tile of sums [128, 64] stays in the first-level cache, its rows of the left factor in the
// second.
constexpr std::int64_t kTileRows = 128;

/// What follows the products, for the instruction set in use.
const LinearKernels& linear_kernels();

/// The dtype in which factors are multiplied.
at::ScalarType factor_dtype(at::ScalarType activations);

/// A matrix from (row, column) on; none for an undefined tensor.
LinearMatrix part_of(const at::Tensor& matrix, std::int64_t row, std::int64_t column);

/// A matrix [depth, columns] as right factor.
at::Tensor pack_rows(const at::Tensor& matrix, at::ScalarType dtype);

/// The rows of a product's left factor, a tile at a time: in place, or as a copy that is
/// normalised, in another dtype, or with an even number of columns, which bfloat16 needs.
class LeftRows {
 public:
  LeftRows(const LinearRows& rows, at::ScalarType dtype);
  std::int64_t scratch_floats() const { return copies_ ? kTileRows * stride_ : 0; }
  const void* rows(std::int64_t first, std::int64_t count, float* scratch) const;
  /// The sums of such rows with a panel of the right factor. `p` has the rows, columns and place.
  void multiply(const void* rows, const at::Tensor& panels, std::int64_t panel,
                PanelProduct p) const;

 private:
  PackSource source_;
  LinearNorm norm_;
  bool bf16_;
  bool copies_ = false;
  std::int64_t depth_ = 0, stride_ = 0;
};

/// A tile of a product: its place there, and its sums [rows, 64].
struct ProductTile {
  std::int64_t row = 0, column = 0;
  std::int64_t rows = 0, columns = 0;
  float* sums = nullptr;
};

/// How the tiles of a product are told apart, and dealt out: in the order of row blocks, and in
/// each of them of panels.
struct ProductGrid {
  std::int64_t rows, panels;
  std::int64_t work() const { return rows * panels; }
  /// The first tile that starts at or behind this share of the work. The last block has fewer rows,
  /// which counting tiles would give to the last thread as if they were whole.
  std::int64_t first_tile(std::int64_t work_before) const;
};

/// Asks for what is read or written behind a product, so that it comes while that is computed.
void prefetch(const LinearMatrix& matrix, std::int64_t rows, std::int64_t columns);

/// The tiles of x P for packed P [in, columns]: before(tile), then after(tile) with its sums. Every
/// tile is computed by one thread.
template <typename Before, typename After>
void multiply_tiles(const LinearRows& factor, const at::Tensor& panels, std::int64_t columns,
                    const Before& before, const After& after) {
  const LeftRows left(factor, panels.scalar_type());
  const std::int64_t rows = factor.x.size(0), count = panel_count(columns);
  const ProductGrid grid{rows, count};
  const auto scratch_floats =
      static_cast<std::size_t>(kTileRows * kPanelColumns + left.scratch_floats());
  at::parallel_for(0, grid.work(), 1, [&](std::int64_t begin, std::int64_t end) {
    float* const sums = thread_scratch(scratch_floats);
    std::int64_t current = -1;
    const void* from = nullptr;
    const std::int64_t last = grid.first_tile(end);
    for (std::int64_t index = grid.first_tile(begin); index < last; ++index) {
      const std::int64_t block = index / count, panel = index % count;
      ProductTile tile{block * kTileRows, panel * kPanelColumns, 0, 0, sums};
      tile.rows = std::min(kTileRows, rows - tile.row);
      tile.columns = std::min(kPanelColumns, columns - tile.column);
      if (block != current) from = left.rows(tile.row, tile.rows, sums + kTileRows * kPanelColumns);
      current = block;
      before(tile);
      PanelProduct p;
      p.rows = tile.rows;
      p.columns = tile.columns;
      p.c = sums;
      left.multiply(from, panels, panel, p);
      after(tile);
    }
    release_products();
  });
}

/// out = tail(x P) for packed P [in, out].
void multiply_rows(const LinearRows& factor, const at::Tensor& panels, const LinearTail& tail,
                   const at::Tensor& out);

/// The gradients of a map's weight and bias, in float, given that of its result [rows, out] and x
/// [rows, in], both in one dtype.
std::pair<at::Tensor, at::Tensor> parameter_gradients(const at::Tensor& dout, const at::Tensor& x);

/// The gradient of x [rows, in], given that of the result, in the dtype of dout.
at::Tensor input_gradient(const at::Tensor& dout, const at::Tensor& weight);

}  // namespace ttt::ops::cpu
