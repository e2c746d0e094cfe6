// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the op needs beside kernels/depthwise_conv3x3/cuda.h: the step's clip, and the way back.

#include "kernels/support/cuda_types.h"

namespace ttt::ops::cuda {

/// g = scale * sums, kernels = w3 - g / (norm of g's nine taps + 1), per sample and channel.
struct DepthwiseClipLaunch {
  const float* sums = nullptr;  ///< [batch, chunks, 10, channels], of launch_tap_sums
  std::int64_t batch = 0, chunks = 0, channels = 0;
  float scale = 0;
  const float* w3 = nullptr;                      ///< [channels, 3, 3]
  float *kernels = nullptr, *gradient = nullptr;  ///< [batch, 3, 3, channels]
};
void launch_depthwise_clip(const DepthwiseClipLaunch& launch, const Stream& stream);

/// factors = scale * (gradient with respect to g), given g and the gradient of the new kernels; all
/// [batch, 3, 3, channels].
struct DepthwiseFactorsLaunch {
  const float *gradient = nullptr, *dkernels = nullptr;
  std::int64_t batch = 0, channels = 0;
  float scale = 0;
  float* factors = nullptr;
};
void launch_depthwise_factors(const DepthwiseFactorsLaunch& launch, const Stream& stream);

}  // namespace ttt::ops::cuda
