// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The gate between the products of support/cuda_gemm.cuh. Planes are [matrix, tile, hidden] of
// float, matrix = sample * heads + head.

#include "kernels/support/cuda_device.cuh"
#include "kernels/swiglu_fast_weights/cuda.h"

namespace ttt::ops::cuda {

constexpr int kSwigluThreads = 128;

struct SwigluPlanes {
  float *a, *c, *r, *p0, *p1, *p2;
  const float* rates;  // [matrix, 3, tokens] from the tile's first token on; null: 1
  float* drates;
  std::int64_t tokens;  // distance of the rates of two matrices' halves
  std::int64_t rows, hidden;
};

/// silu(a) and its first two derivatives.
struct SwigluSilu {
  float value, slope, curvature;
  __device__ __forceinline__ explicit SwigluSilu(float a) {
    const float sigmoid = 1 / (1 + expf(-a)), rest = 1 - sigmoid;
    value = a * sigmoid;
    slope = sigmoid * (1 + a * rest);
    curvature = sigmoid * rest * (2 + a * (1 - 2 * sigmoid));
  }
};

/// a becomes silu(a) c.
__global__ void __launch_bounds__(kSwigluThreads)
    swiglu_gate_kernel(float* a, const float* c, std::int64_t total) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kSwigluThreads + threadIdx.x;
  if (i < total) a[i] = SwigluSilu(a[i]).value * c[i];
}

/// A block's token: its row of the planes, and its rates.
struct SwigluRow {
  std::int64_t first;
  float eta[3];
  __device__ __forceinline__ explicit SwigluRow(const SwigluPlanes& p) {
    const std::int64_t matrix = blockIdx.x / p.rows, token = blockIdx.x % p.rows;
    first = (matrix * p.rows + token) * p.hidden;
#pragma unroll
    for (int i = 0; i < 3; ++i)
      eta[i] = p.rates != nullptr ? p.rates[(matrix * 3 + i) * p.tokens + token] : 1;
  }
};

/// a, c, r become eta0 r c silu'(a), eta2 r silu(a), eta1 silu(a) c. A block per token.
__global__ void __launch_bounds__(kSwigluThreads) swiglu_gradient_kernel(SwigluPlanes p) {
  const SwigluRow row(p);
  for (std::int64_t j = threadIdx.x; j < p.hidden; j += kSwigluThreads) {
    const std::int64_t i = row.first + j;
    const SwigluSilu u(p.a[i]);
    const float c = p.c[i], r = p.r[i];
    p.a[i] = row.eta[0] * r * c * u.slope;
    p.c[i] = row.eta[2] * r * u.value;
    p.r[i] = row.eta[1] * u.value * c;
  }
}

/// a, c, r become da, dc, dr; p0, p1, p2 become eta0 r c silu'(a), eta1 silu(a) c, eta2 r silu(a);
/// and the rates' gradients. A block per token.
__global__ void __launch_bounds__(kSwigluThreads) swiglu_gradient_backward_kernel(SwigluPlanes p) {
  __shared__ SharedArray<float, 3 * kSwigluThreads> partial;
  const SwigluRow row(p);
  float sums[3] = {0, 0, 0};
  for (std::int64_t j = threadIdx.x; j < p.hidden; j += kSwigluThreads) {
    const std::int64_t i = row.first + j;
    const SwigluSilu u(p.a[i]);
    const float c = p.c[i], r = p.r[i], p0 = p.p0[i], p1 = p.p1[i], p2 = p.p2[i];
    const float ra = r * c * u.slope, rc = r * u.value, hidden = u.value * c;
    const float e0 = row.eta[0] * p0, e1 = row.eta[1] * p1, e2 = row.eta[2] * p2;
    p.a[i] = e0 * r * c * u.curvature + e1 * c * u.slope + e2 * r * u.slope;
    p.c[i] = e0 * r * u.slope + e1 * u.value;
    p.r[i] = e0 * c * u.slope + e2 * u.value;
    p.p0[i] = row.eta[0] * ra;
    p.p1[i] = row.eta[1] * hidden;
    p.p2[i] = row.eta[2] * rc;
    sums[0] += p0 * ra;
    sums[1] += p1 * hidden;
    sums[2] += p2 * rc;
  }
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < 3; ++i) partial[i * kSwigluThreads + thread] = sums[i];
  __syncthreads();
  if (thread >= 3) return;
  float total = 0;
  for (int i = 0; i < kSwigluThreads; ++i) total += partial[thread * kSwigluThreads + i];
  const std::int64_t matrix = blockIdx.x / p.rows, token = blockIdx.x % p.rows;
  p.drates[(matrix * 3 + thread) * p.tokens + token] = total;
}

}  // namespace ttt::ops::cuda
