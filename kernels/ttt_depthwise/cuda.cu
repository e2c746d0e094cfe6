// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/cuda_launch.cuh"
#include "kernels/ttt_depthwise/cuda.h"
#include "kernels/ttt_depthwise/kernel.cuh"

namespace ttt::ops::cuda {

void launch_depthwise_clip(const DepthwiseClipLaunch& arguments, const Stream& stream) {
  launch("ttt_depthwise clip", depthwise_clip_kernel,
         {ceil_divide(arguments.batch * arguments.channels, kClipThreads), kClipThreads}, stream,
         arguments);
}

void launch_depthwise_factors(const DepthwiseFactorsLaunch& arguments, const Stream& stream) {
  launch("ttt_depthwise factors", depthwise_factors_kernel,
         {ceil_divide(arguments.batch * arguments.channels, kClipThreads), kClipThreads}, stream,
         arguments);
}

}  // namespace ttt::ops::cuda
