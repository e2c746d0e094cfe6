// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/cuda_device.cuh"
#include "kernels/ttt_depthwise/cuda.h"

namespace ttt::ops::cuda {

constexpr int kClipThreads = 128;

/// One thread for each sample and channel.
__global__ void __launch_bounds__(kClipThreads)
    depthwise_clip_kernel(DepthwiseClipLaunch arguments) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kClipThreads + threadIdx.x;
  const std::int64_t channels = arguments.channels;
  if (index >= arguments.batch * channels) return;
  const std::int64_t sample = index / channels, channel = index % channels;
  const float* from = arguments.sums + sample * arguments.chunks * 10 * channels + channel;
  float g[9] = {};
  for (std::int64_t chunk = 0; chunk < arguments.chunks; ++chunk)
#pragma unroll
    for (int tap = 0; tap < 9; ++tap) g[tap] += from[(chunk * 10 + tap) * channels];
  float squares = 0;
#pragma unroll
  for (int tap = 0; tap < 9; ++tap) {
    g[tap] *= arguments.scale;
    squares += g[tap] * g[tap];
  }
  const float norm = sqrtf(squares);
#pragma unroll
  for (int tap = 0; tap < 9; ++tap) {
    const std::int64_t to = (sample * 9 + tap) * channels + channel;
    arguments.gradient[to] = g[tap];
    arguments.kernels[to] = arguments.w3[channel * 9 + tap] - g[tap] / (norm + 1);
  }
}

/// One thread for each sample and channel.
__global__ void __launch_bounds__(kClipThreads)
    depthwise_factors_kernel(DepthwiseFactorsLaunch arguments) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kClipThreads + threadIdx.x;
  const std::int64_t channels = arguments.channels;
  if (index >= arguments.batch * channels) return;
  const std::int64_t first = index / channels * 9 * channels + index % channels;
  float g[9], d[9], squares = 0, dot = 0;  // dot: <g, dh> with dh = -d
#pragma unroll
  for (int tap = 0; tap < 9; ++tap) {
    g[tap] = arguments.gradient[first + tap * channels];
    d[tap] = arguments.dkernels[first + tap * channels];
    squares += g[tap] * g[tap];
    dot -= g[tap] * d[tap];
  }
  const float norm = sqrtf(squares);
  const float along = norm > 0 ? dot / (norm * (norm + 1) * (norm + 1)) : 0;
#pragma unroll
  for (int tap = 0; tap < 9; ++tap)
    arguments.factors[first + tap * channels] =
        arguments.scale * (-d[tap] / (norm + 1) - g[tap] * along);
}

}  // namespace ttt::ops::cuda
