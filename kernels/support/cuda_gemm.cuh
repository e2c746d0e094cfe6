// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A batched matrix product for ops whose matrices are too large to keep in shared memory. A block
// of four warps computes [64, columns] of a result, 32 of the depth at a time.

#include "kernels/support/cuda_gemm.h"
#include "kernels/support/cuda_tile.cuh"

namespace ttt::ops::cuda {

constexpr int kGemmThreads = 128;
constexpr int kGemmRows = 64;
constexpr int kGemmDepth = 32;
template <typename T>
constexpr int kGemmColumns = 32;
template <>
constexpr int kGemmColumns<Bfloat16> = 64;

/// Where a block's matrices start.
struct GemmBlock {
  std::int64_t sample, head;
  int row, column;
};

template <typename T>
__device__ __forceinline__ float gemm_element(const GemmMatrix& m, std::int64_t index) {
  return to_float(static_cast<const T*>(m.data)[index]);
}

/// Fills `to` [kRows, kColumns] from (row, column) of a matrix on, zeros outside [rows, columns].
/// Neighbouring threads read along the stride of 1.
template <int kRows, int kColumns, typename T>
__device__ __forceinline__ void load_gemm_tile(const SharedMatrix<T, 1>& to, const GemmMatrix& from,
                                               const GemmBlock& at, std::int64_t rows,
                                               std::int64_t columns) {
  const std::int64_t base = at.sample * from.sample + at.head * from.head;
  const bool along_row = from.column == 1;
  for (int i = threadIdx.x; i < kRows * kColumns; i += kGemmThreads) {
    const int r = along_row ? i / kColumns : i % kRows;
    const int c = along_row ? i % kColumns : i / kRows;
    const std::int64_t row = at.row + r, column = at.column + c;
    float value = 0;
    if (row < rows && column < columns) {
      const std::int64_t index = base + row * from.row + column * from.column;
      value = from.type == DataType::bfloat16 ? gemm_element<Bfloat16>(from, index)
                                              : gemm_element<float>(from, index);
    }
    *to.at(0, r, c) = from_float<T>(value);
  }
}

template <typename T>
struct GemmShared {
  static constexpr int kColumns = kGemmColumns<T>;
  static constexpr int kAStride = kGemmDepth + kRowPadding<T>;
  static constexpr int kBStride = kColumns + kRowPadding<T>;
  static constexpr int kB = kGemmRows * kAStride * static_cast<int>(sizeof(T));
  static constexpr int kBytes = kB + kGemmDepth * kBStride * static_cast<int>(sizeof(T));

  __device__ __forceinline__ static SharedMatrix<T, 1> a() {
    return {dynamic_shared<T>(0), kAStride, 0};
  }
  __device__ __forceinline__ static SharedMatrix<T, 1> b() {
    return {dynamic_shared<T>(kB), kBStride, 0};
  }
};

/// Blocks are numbered (sample, head, rows, columns).
template <typename T>
__global__ void __launch_bounds__(kGemmThreads) gemm_kernel(GemmLaunch p) {
  using Shared = GemmShared<T>;
  constexpr int kColumns = Shared::kColumns;
  std::int64_t index = blockIdx.x;
  const std::int64_t column_blocks = (p.columns + kColumns - 1) / kColumns;
  const std::int64_t row_blocks = (p.rows + kGemmRows - 1) / kGemmRows;
  const int column = static_cast<int>(index % column_blocks) * kColumns;
  index /= column_blocks;
  const int row = static_cast<int>(index % row_blocks) * kGemmRows;
  index /= row_blocks;
  const std::int64_t head = index % p.heads, sample = index / p.heads;
  const int first = static_cast<int>(threadIdx.x) / 32 * 16;  // row of the warp
  Tile<T, kColumns, Layout::plain, Layout::plain> sum;
  clear(sum);
  for (int k = 0; k < p.depth; k += kGemmDepth) {
    __syncthreads();
    load_gemm_tile<kGemmRows, kGemmDepth>(Shared::a(), p.a, {sample, head, row, k}, p.rows,
                                          p.depth);
    load_gemm_tile<kGemmDepth, kColumns>(Shared::b(), p.b, {sample, head, k, column}, p.depth,
                                         p.columns);
    __syncthreads();
    sum.add_product(Shared::a(), first, Shared::b(), kGemmDepth);
  }
  const std::int64_t base = sample * p.out.sample + head * p.out.head;
  const std::int64_t d_base = sample * p.d.sample + head * p.d.head;
#pragma unroll
  for (int run = 0; run < sum.kRuns; ++run)
#pragma unroll
    for (int j = 0; j < sum.kRunLength; ++j) {
      const std::int64_t r = row + first + sum.row(run), c = column + sum.column(run) + j;
      if (r >= p.rows || c >= p.columns) continue;
      float value = p.alpha * sum.values[run][j];
      if (p.d.data != nullptr)
        value +=
            p.beta * static_cast<const float*>(p.d.data)[d_base + r * p.d.row + c * p.d.column];
      void* const out = const_cast<void*>(p.out.data);
      const std::int64_t element = base + r * p.out.row + c * p.out.column;
      if (p.out.type == DataType::bfloat16) {
        static_cast<Bfloat16*>(out)[element] = from_float<Bfloat16>(value);
      } else {
        static_cast<float*>(out)[element] = value;
      }
    }
}

}  // namespace ttt::ops::cuda
