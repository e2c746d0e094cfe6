// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/fast_weight_update/cuda.h"
#include "kernels/support/cuda_device.cuh"

namespace ttt::ops::cuda {

constexpr int kUpdateThreads = 256;
constexpr int kUpdateColumns = 32;  // of a block; a warp reads a row of them
constexpr double kUpdateEpsilon = 1e-5;

/// A block's stripe of columns: thread t has column t % 32 and every eighth row from t / 32 on.
struct UpdateStripe {
  std::int64_t matrix;  // first element of the column, or -1 outside
  std::int64_t vector;
  int first_row;
  static constexpr int kRowStep = kUpdateThreads / kUpdateColumns;

  __device__ __forceinline__ UpdateStripe(std::int64_t rows, std::int64_t columns) {
    const std::int64_t stripes = (columns + kUpdateColumns - 1) / kUpdateColumns;
    const std::int64_t batch = blockIdx.x / stripes;
    const std::int64_t column =
        blockIdx.x % stripes * kUpdateColumns + static_cast<int>(threadIdx.x) % kUpdateColumns;
    matrix = column < columns ? batch * rows * columns + column : -1;
    vector = batch * columns + column;
    first_row = static_cast<int>(threadIdx.x) / kUpdateColumns;
  }
};

/// The block's sum of each column's values.
__device__ __forceinline__ double update_total(double value,
                                               SharedArray<double, kUpdateThreads>& values) {
  __syncthreads();
  values[static_cast<int>(threadIdx.x)] = value;
  __syncthreads();
  double total = 0;
#pragma unroll
  for (int i = 0; i < UpdateStripe::kRowStep; ++i)
    total += values[i * kUpdateColumns + static_cast<int>(threadIdx.x) % kUpdateColumns];
  return total;
}

/// Sums are double: a length decides over a whole column.
__global__ void __launch_bounds__(kUpdateThreads)
    fast_weight_update_kernel(FastWeightUpdateLaunch p) {
  __shared__ SharedArray<double, kUpdateThreads> scratch;
  const UpdateStripe stripe(p.rows, p.columns);
  double squares = 0;
  for (std::int64_t row = stripe.first_row; row < p.rows && stripe.matrix >= 0;
       row += UpdateStripe::kRowStep) {
    const std::int64_t at = stripe.matrix + row * p.columns;
    const float sum = p.weight[at] + p.step[at];
    squares += static_cast<double>(sum) * static_cast<double>(sum);
  }
  squares = update_total(squares, scratch);
  if (stripe.matrix < 0) return;
  const auto factor = static_cast<float>(static_cast<double>(p.norms[stripe.vector]) /
                                         (sqrt(squares) + kUpdateEpsilon));
  for (std::int64_t row = stripe.first_row; row < p.rows; row += UpdateStripe::kRowStep) {
    const std::int64_t at = stripe.matrix + row * p.columns;
    p.out[at] = (p.weight[at] + p.step[at]) * factor;
  }
}

__global__ void __launch_bounds__(kUpdateThreads)
    fast_weight_update_backward_kernel(FastWeightUpdateBackwardLaunch p) {
  __shared__ SharedArray<double, kUpdateThreads> scratch;
  const UpdateStripe stripe(p.rows, p.columns);
  double squares = 0, dot = 0;
  for (std::int64_t row = stripe.first_row; row < p.rows && stripe.matrix >= 0;
       row += UpdateStripe::kRowStep) {
    const std::int64_t at = stripe.matrix + row * p.columns;
    const auto s = static_cast<double>(p.sum[at]);
    squares += s * s;
    dot += s * static_cast<double>(p.dout[at]);
  }
  const double length = sqrt(update_total(squares, scratch));
  dot = update_total(dot, scratch);
  if (stripe.matrix < 0) return;
  const double divisor = length + kUpdateEpsilon;
  const auto to = static_cast<double>(p.norms[stripe.vector]);
  const double scale = to / divisor;
  const double along = length > 0 ? dot * to / (divisor * divisor * length) : 0;
  if (stripe.first_row == 0) p.dnorms[stripe.vector] = static_cast<float>(dot / divisor);
  for (std::int64_t row = stripe.first_row; row < p.rows; row += UpdateStripe::kRowStep) {
    const std::int64_t at = stripe.matrix + row * p.columns;
    p.dsum[at] = static_cast<float>(static_cast<double>(p.dout[at]) * scale -
                                    static_cast<double>(p.sum[at]) * along);
  }
}

}  // namespace ttt::ops::cuda
