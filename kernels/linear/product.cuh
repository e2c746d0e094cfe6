// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A linear map in one launch. A block of four warps computes [64, columns] of the result, 32 of the
// depth at a time: the next part of both factors is on its way to registers while the one in shared
// memory is multiplied.

#include "kernels/linear/kernel.cuh"
#include "kernels/support/cuda_tile.cuh"

namespace ttt::ops::cuda {

constexpr int kLinearTileThreads = 128;
constexpr int kLinearTileRows = 64;
constexpr int kLinearDepth = 32;
constexpr int kLinearQuad = 4;  ///< elements of a row that a thread loads at once

template <typename T>
struct LinearShared {
  static constexpr int kColumns = sizeof(T) == 2 ? 64 : 32;
  static constexpr int kStride = kLinearDepth + kRowPadding<T>;
  static constexpr int kWeight = kLinearTileRows * kStride * static_cast<int>(sizeof(T));
  static constexpr int kMoments = kWeight + kColumns * kStride * static_cast<int>(sizeof(T));
  static constexpr int kBytes = kMoments + 2 * kLinearTileRows * static_cast<int>(sizeof(float));

  __device__ __forceinline__ static SharedMatrix<T, 1> x() {
    return {dynamic_shared<T>(0), kStride, 0};
  }
  /// [columns, depth]
  __device__ __forceinline__ static SharedMatrix<T, 1> weight() {
    return {dynamic_shared<T>(kWeight), kStride, 0};
  }
  /// Mean and 1 / sqrt(variance + epsilon) of each row.
  __device__ __forceinline__ static SharedPointer<float> moments() {
    return dynamic_shared<float>(kMoments);
  }
};

__device__ __forceinline__ float sum_of_warp(float value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kWholeWarp, value, step);
  return value;
}

/// Moments of the block's rows; each warp takes every fourth row.
template <typename T>
__device__ __forceinline__ void find_moments(const LinearLaunch& p, std::int64_t first_row) {
  const SharedPointer<float> moments = LinearShared<T>::moments();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto share = 1 / static_cast<float>(p.depth);
#pragma unroll 1
  for (int r = warp; r < kLinearTileRows; r += kLinearTileThreads / 32) {
    const std::int64_t row = first_row + r;
    if (row >= p.rows) continue;  // of a whole warp
    float sum = 0, squares = 0;
    for (std::int64_t k = lane; k < p.depth; k += 32) sum += read_linear(p.x, row, k);
    const float mean = sum_of_warp(sum) * share;
    for (std::int64_t k = lane; k < p.depth; k += 32) {
      const float centred = read_linear(p.x, row, k) - mean;
      squares += centred * centred;
    }
    const float variance = sum_of_warp(squares) * share;
    if (lane == 0) {
      moments[2 * r] = mean;
      moments[2 * r + 1] = 1 / sqrtf(variance + p.norm.epsilon);
    }
  }
}

/// [kRows, 32] of a matrix on their way from memory to shared memory, in the threads' registers;
/// zeros outside the matrix.
template <typename T, int kRows>
struct LinearPart {
  static constexpr int kQuads = kRows * kLinearDepth / kLinearQuad / kLinearTileThreads;
  static_assert(kQuads >= 1);
  float values[kQuads][kLinearQuad];

  __device__ __forceinline__ static int row(int quad) {
    return (threadIdx.x + quad * kLinearTileThreads) / (kLinearDepth / kLinearQuad);
  }
  __device__ __forceinline__ static int column() {
    return threadIdx.x % (kLinearDepth / kLinearQuad) * kLinearQuad;
  }

  template <typename S>
  __device__ __forceinline__ void load_as(const LinearMatrix& m, std::int64_t first_row,
                                          std::int64_t rows, std::int64_t k, std::int64_t depth) {
    const std::int64_t start = k + column();
    // Whole quads at aligned places, which rows have when their stride is a multiple.
    const bool whole = m.aligned && start + kLinearQuad <= depth;
#pragma unroll
    for (int quad = 0; quad < kQuads; ++quad) {
      const std::int64_t r = first_row + row(quad);
      const S* from = static_cast<const S*>(m.data) + r * m.stride + start;
      if (whole && r < rows) {
        const Vector<S, kLinearQuad> read = load_vector<S, kLinearQuad>(from);
#pragma unroll
        for (int i = 0; i < kLinearQuad; ++i) values[quad][i] = to_float(read.data[i]);
      } else {
#pragma unroll
        for (int i = 0; i < kLinearQuad; ++i)
          values[quad][i] = r < rows && start + i < depth ? to_float(from[i]) : 0;
      }
    }
  }
  __device__ __forceinline__ void load(const LinearMatrix& m, std::int64_t first_row,
                                       std::int64_t rows, std::int64_t k, std::int64_t depth) {
    if (m.type == DataType::bfloat16) {
      load_as<Bfloat16>(m, first_row, rows, k, depth);
    } else {
      load_as<float>(m, first_row, rows, k, depth);
    }
  }

  __device__ __forceinline__ void normalise(const LinearNormLaunch& norm,
                                            const SharedPointer<float>& moments,
                                            std::int64_t first_row, std::int64_t rows,
                                            std::int64_t k, std::int64_t depth) {
#pragma unroll
    for (int i = 0; i < kLinearQuad; ++i) {
      const std::int64_t channel = k + column() + i;
      if (channel >= depth) continue;
      const float weight = norm.weight[channel];
      const float bias = norm.bias != nullptr ? norm.bias[channel] : 0;
#pragma unroll
      for (int quad = 0; quad < kQuads; ++quad) {
        const int r = row(quad);
        if (first_row + r >= rows) continue;
        const float centred = values[quad][i] - moments[2 * r];
        values[quad][i] = centred * moments[2 * r + 1] * weight + bias;
      }
    }
  }

  __device__ __forceinline__ void store(const SharedMatrix<T, 1>& to) const {
#pragma unroll
    for (int quad = 0; quad < kQuads; ++quad) to.set(row(quad), column(), values[quad]);
  }
};

/// Blocks are numbered (rows, columns).
template <typename T, bool kNorm>
__global__ void __launch_bounds__(kLinearTileThreads) linear_kernel(LinearLaunch p) {
  using Shared = LinearShared<T>;
  constexpr int kColumns = Shared::kColumns;
  const std::int64_t column_blocks = (p.columns + kColumns - 1) / kColumns;
  const std::int64_t first_row = blockIdx.x / column_blocks * kLinearTileRows;
  const std::int64_t first_column = blockIdx.x % column_blocks * kColumns;
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * 16;
  LinearPart<T, kLinearTileRows> x;
  LinearPart<T, kColumns> weight;
  Tile<T, kColumns, Layout::plain, Layout::transposed> sum;
  clear(sum);
  if constexpr (kNorm) find_moments<T>(p, first_row);
  if (p.depth > 0) {
    x.load(p.x, first_row, p.rows, 0, p.depth);
    weight.load(p.weight, first_column, p.columns, 0, p.depth);
  }
#pragma unroll 1
  for (std::int64_t k = 0; k < p.depth; k += kLinearDepth) {
    __syncthreads();
    if constexpr (kNorm) x.normalise(p.norm, Shared::moments(), first_row, p.rows, k, p.depth);
    x.store(Shared::x());
    weight.store(Shared::weight());
    __syncthreads();
    if (k + kLinearDepth < p.depth) {
      x.load(p.x, first_row, p.rows, k + kLinearDepth, p.depth);
      weight.load(p.weight, first_column, p.columns, k + kLinearDepth, p.depth);
    }
    sum.add_product(Shared::x(), warp_row, Shared::weight(), kLinearDepth);
  }
#pragma unroll
  for (int run = 0; run < sum.kRuns; ++run)
#pragma unroll
    for (int j = 0; j < sum.kRunLength; ++j) {
      const std::int64_t row = first_row + warp_row + sum.row(run);
      const std::int64_t column = first_column + sum.column(run) + j;
      if (row >= p.rows || column >= p.columns) continue;
      float z = sum.values[run][j];
      if (p.bias != nullptr) z += p.bias[column];
      if (p.before.data != nullptr) write_linear(p.before, row, column, z);
      z = linear_activate(z, p.activation);
      if (p.residual.data != nullptr) z += read_linear(p.residual, row, column);
      write_linear(p.out, row, column, z);
    }
}

}  // namespace ttt::ops::cuda
