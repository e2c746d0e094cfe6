// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What happens to sums over the tokens: chunks are added, and in the step the clip follows.

#include "kernels/ttt_gated_linear/tiles.cuh"

namespace ttt::ops::cuda {

/// Where S_1, S_2 go. With one chunk the kernel that took the sums finishes them; else it leaves
/// `partial` [sample and head, chunk, 2, width, width] to gated_finish_kernel.
struct GatedSums {
  float* partial;
  bool clip;  // out = base - g / (norm of g's column + 1) with g = scale * S; else out = base + S
  float scale;
  MatrixPair base;  // null: nothing
  MatrixPairOutput out, gradients;
};

constexpr int kFinishColumns = 32;

/// The sum of the block's values of one column; thread t has column t % kColumns.
template <int kColumns>
__device__ __forceinline__ float column_total(float value,
                                              SharedArray<float, kGatedThreads>& values) {
  __syncthreads();
  values[threadIdx.x] = value;
  __syncthreads();
  float total = 0;
#pragma unroll
  for (int i = 0; i < kGatedThreads / kColumns; ++i)
    total += values[i * kColumns + static_cast<int>(threadIdx.x) % kColumns];
  return total;
}

/// Writes the columns from `first_column` on of result `which`, given their sums.
template <int kColumns>
__device__ __forceinline__ void finish_columns(const GatedProblem& problem, const GatedSums& sums,
                                               const GatedBlock& block, int which, int first_column,
                                               const SharedMatrix<float, 1>& total) {
  __shared__ SharedArray<float, kGatedThreads> scratch;
  constexpr int kStep = kGatedThreads / kColumns;
  const int column = static_cast<int>(threadIdx.x) % kColumns;
  const int first_row = static_cast<int>(threadIdx.x) / kColumns;
  const int width = problem.width;
  const std::int64_t size = static_cast<std::int64_t>(width) * width;
  float norm = 0;
  if (sums.clip) {
    float squares = 0;
    for (int row = first_row; row < width; row += kStep) {
      const float g = sums.scale * *total.at(0, row, column);
      squares += g * g;
    }
    norm = sqrtf(column_total<kColumns>(squares, scratch));
  }
  if (first_column + column >= width) return;
  const float* base = which == 0 ? sums.base.first : sums.base.second;
  if (base != nullptr) base += block.sample * sums.base.batch_stride + block.head * size;
  const std::int64_t matrix = (block.sample * problem.heads + block.head) * size;
  float* out = (which == 0 ? sums.out.first : sums.out.second) + matrix;
  float* gradient = which == 0 ? sums.gradients.first : sums.gradients.second;
  for (int row = first_row; row < width; row += kStep) {
    const std::int64_t element = static_cast<std::int64_t>(row) * width + first_column + column;
    const float start = base != nullptr ? base[element] : 0;
    const float sum = *total.at(0, row, column);
    if (sums.clip) {
      const float g = sums.scale * sum;
      gradient[matrix + element] = g;
      out[element] = start - g / (norm + 1);
    } else {
      out[element] = start + sum;
    }
  }
}

/// Copies a slice of the sums of one chunk to its place in `partial`.
template <int kColumns>
__device__ __forceinline__ void store_partial(const GatedProblem& problem, const GatedSums& sums,
                                              const GatedBlock& block, int which, int first_column,
                                              const SharedMatrix<float, 1>& total) {
  const int width = problem.width;
  const std::int64_t matrix =
      ((block.sample * problem.heads + block.head) * problem.chunks + block.chunk) * 2 + which;
  float* to = sums.partial + matrix * width * width + first_column;
  for (int i = threadIdx.x; i < width * kColumns; i += kGatedThreads) {
    const int row = i / kColumns, column = i % kColumns;
    if (first_column + column < width)
      to[static_cast<std::int64_t>(row) * width + column] = *total.at(0, row, column);
  }
}

/// Adds the chunks, in order, and finishes. Blocks: (sample and head, result, slice); `problem` has
/// slices = 2 * slices of kFinishColumns.
__global__ void __launch_bounds__(kGatedThreads)
    gated_finish_kernel(GatedProblem problem, GatedSums sums) {
  GatedProblem numbering = problem;
  numbering.chunks = 1;
  const GatedBlock block(numbering);
  const int which = block.slice % 2, first_column = block.slice / 2 * kFinishColumns;
  const int width = problem.width;
  const SharedMatrix<float, 1> total{dynamic_shared<float>(0), kFinishColumns, 0};
  const std::int64_t matrix =
      (block.sample * problem.heads + block.head) * problem.chunks * 2 + which;
  const std::int64_t size = static_cast<std::int64_t>(width) * width;
  const float* from = sums.partial + matrix * size + first_column;
  for (int i = threadIdx.x; i < width * kFinishColumns; i += kGatedThreads) {
    const int row = i / kFinishColumns, column = i % kFinishColumns;
    float sum = 0;
    if (first_column + column < width) {
      const float* element = from + static_cast<std::int64_t>(row) * width + column;
#pragma unroll 8
      for (int chunk = 0; chunk < problem.chunks; ++chunk) sum += element[2 * size * chunk];
    }
    *total.at(0, row, column) = sum;  // read again by this thread alone
  }
  finish_columns<kFinishColumns>(problem, sums, block, which, first_column, total);
}

/// The step's backward pass through its clip: factors -scale * dG of `out`, given G (`base`) and
/// the gradient with respect to the new weights. Blocks as for gated_finish_kernel.
__global__ void __launch_bounds__(kGatedThreads)
    gated_factors_kernel(GatedProblem problem, GatedSums sums, MatrixPair d_new_weights) {
  __shared__ SharedArray<float, kGatedThreads> scratch;
  GatedProblem numbering = problem;
  numbering.chunks = 1;
  const GatedBlock block(numbering);
  const int which = block.slice % 2;
  const int column =
      block.slice / 2 * kFinishColumns + static_cast<int>(threadIdx.x) % kFinishColumns;
  const int first_row = static_cast<int>(threadIdx.x) / kFinishColumns;
  constexpr int kStep = kGatedThreads / kFinishColumns;
  const int width = problem.width;
  const std::int64_t size = static_cast<std::int64_t>(width) * width;
  const std::int64_t matrix = (block.sample * problem.heads + block.head) * size;
  const float* g = (which == 0 ? sums.base.first : sums.base.second) + matrix;
  const float* d = (which == 0 ? d_new_weights.first : d_new_weights.second) + matrix;
  float* out = (which == 0 ? sums.out.first : sums.out.second) + matrix;
  float squares = 0, dot = 0;  // |g|^2, <g, dh> with dh = -d
  for (int row = first_row; row < width && column < width; row += kStep) {
    const int element = row * width + column;
    squares += g[element] * g[element];
    dot -= g[element] * d[element];
  }
  const float norm = sqrtf(column_total<kFinishColumns>(squares, scratch));
  dot = column_total<kFinishColumns>(dot, scratch);
  const float along = norm > 0 ? dot / (norm * (norm + 1) * (norm + 1)) : 0;
  for (int row = first_row; row < width && column < width; row += kStep) {
    const int element = row * width + column;
    out[element] = sums.scale * (-d[element] / (norm + 1) - g[element] * along);
  }
}

}  // namespace ttt::ops::cuda
