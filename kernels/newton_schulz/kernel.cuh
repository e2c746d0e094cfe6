// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is left beside the products of support/cuda_gemm.cuh.

#include "kernels/newton_schulz/cuda.h"
#include "kernels/support/cuda_device.cuh"

namespace ttt::ops::cuda {

constexpr int kNewtonSchulzThreads = 256;
constexpr double kNewtonSchulzNormEpsilon = 1e-7;

/// out[matrix] = sum of a * b over its `count` elements; a block per matrix, sums in double.
__global__ void __launch_bounds__(kNewtonSchulzThreads)
    matrix_dot_kernel(const float* a, const float* b, std::int64_t count, double* out) {
  __shared__ SharedArray<double, kNewtonSchulzThreads> partial;
  const std::int64_t first = blockIdx.x * count;
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kNewtonSchulzThreads)
    sum += static_cast<double>(a[first + i]) * static_cast<double>(b[first + i]);
  partial[static_cast<int>(threadIdx.x)] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  double total = 0;
  for (int i = 0; i < kNewtonSchulzThreads; ++i) total += partial[i];
  out[blockIdx.x] = total;
}

/// x = g / (||g|| + 1e-7)
__global__ void __launch_bounds__(kNewtonSchulzThreads)
    normalise_kernel(const float* g, const double* squares, std::int64_t count, std::int64_t total,
                     float* x) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kNewtonSchulzThreads + threadIdx.x;
  if (i >= total) return;
  x[i] = g[i] * static_cast<float>(1 / (sqrt(squares[i / count]) + kNewtonSchulzNormEpsilon));
}

struct NormaliseBackward {
  const float *g, *d;
  const double *squares, *dot;
  std::int64_t count, total;
  float* dg;
};

__global__ void __launch_bounds__(kNewtonSchulzThreads)
    normalise_backward_kernel(NormaliseBackward p) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kNewtonSchulzThreads + threadIdx.x;
  if (i >= p.total) return;
  const double norm = sqrt(p.squares[i / p.count]);
  const double scale = 1 / (norm + kNewtonSchulzNormEpsilon);
  const double along = norm > 0 ? p.dot[i / p.count] * scale * scale / norm : 0;
  p.dg[i] =
      static_cast<float>(static_cast<double>(p.d[i]) * scale - static_cast<double>(p.g[i]) * along);
}

/// out = c (m + m^T) + b (s + s^T) over [batch, rows, rows].
struct SymmetricSum {
  const float *m, *s;
  float c, b;
  std::int64_t rows, total;
  float* out;
};

__global__ void __launch_bounds__(kNewtonSchulzThreads) symmetric_sum_kernel(SymmetricSum p) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kNewtonSchulzThreads + threadIdx.x;
  if (i >= p.total) return;
  const std::int64_t matrix = i / (p.rows * p.rows) * p.rows * p.rows;
  const std::int64_t row = (i - matrix) / p.rows, column = (i - matrix) % p.rows;
  const std::int64_t mirrored = matrix + column * p.rows + row;
  p.out[i] = p.c * (p.m[i] + p.m[mirrored]) + p.b * (p.s[i] + p.s[mirrored]);
}

}  // namespace ttt::ops::cuda
