// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What follows the products of a linear map, and the gradient before it: a thread for each element.

#include "kernels/linear/cuda.h"
#include "kernels/support/cuda_device.cuh"

namespace ttt::ops::cuda {

constexpr int kLinearThreads = 256;

__device__ __forceinline__ float linear_activate(float z, LinearActivation activation) {
  constexpr float kSqrtHalf = 0.70710678118654752F;
  constexpr float kTanhFactor = 0.79788456080286536F, kTanhCubic = 0.044715F;
  if (activation == LinearActivation::relu) return z < 0 ? 0 : z;  // keeps NaN
  if (activation == LinearActivation::gelu) return 0.5F * z * (1 + erff(z * kSqrtHalf));
  if (activation == LinearActivation::gelu_tanh)
    return z / (1 + expf(-2 * kTanhFactor * (z + kTanhCubic * z * z * z)));
  if (activation == LinearActivation::silu) return z / (1 + expf(-z));
  return z;
}

__device__ __forceinline__ float linear_slope(float z, LinearActivation activation) {
  constexpr float kSqrtHalf = 0.70710678118654752F, kInverseSqrtTwoPi = 0.39894228040143268F;
  constexpr float kTanhFactor = 0.79788456080286536F, kTanhCubic = 0.044715F;
  if (activation == LinearActivation::relu) return z <= 0 ? 0 : 1;
  if (activation == LinearActivation::gelu)
    return 0.5F * (1 + erff(z * kSqrtHalf)) + z * kInverseSqrtTwoPi * expf(-0.5F * z * z);
  if (activation == LinearActivation::gelu_tanh) {
    const float s = 1 / (1 + expf(-2 * kTanhFactor * (z + kTanhCubic * z * z * z)));
    return s + z * s * (1 - s) * 2 * kTanhFactor * (1 + 3 * kTanhCubic * z * z);
  }
  if (activation == LinearActivation::silu) {
    const float s = 1 / (1 + expf(-z));
    return s * (1 + z * (1 - s));
  }
  return 1;
}

__device__ __forceinline__ float read_linear(const LinearMatrix& m, std::int64_t row,
                                             std::int64_t column) {
  const std::int64_t place = row * m.stride + column;
  return m.type == DataType::bfloat16 ? to_float(static_cast<const Bfloat16*>(m.data)[place])
                                      : static_cast<const float*>(m.data)[place];
}

__device__ __forceinline__ void write_linear(const LinearMatrix& m, std::int64_t row,
                                             std::int64_t column, float value) {
  const std::int64_t place = row * m.stride + column;
  if (m.type == DataType::bfloat16) {
    static_cast<Bfloat16*>(m.data)[place] = from_float<Bfloat16>(value);
  } else {
    static_cast<float*>(m.data)[place] = value;
  }
}

__global__ void __launch_bounds__(kLinearThreads) linear_slope_kernel(LinearSlopeLaunch p) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kLinearThreads + threadIdx.x;
  if (index >= p.rows * p.columns) return;
  const std::int64_t row = index / p.columns, column = index % p.columns;
  float d = read_linear(p.dout, row, column);
  if (p.before.data != nullptr) d *= linear_slope(read_linear(p.before, row, column), p.activation);
  write_linear(p.out, row, column, d);
}

}  // namespace ttt::ops::cuda
