// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/fast_weight_update/cuda.h"
#include "kernels/fast_weight_update/kernel.cuh"
#include "kernels/support/cuda_launch.cuh"

namespace ttt::ops::cuda {

void launch_fast_weight_update(const FastWeightUpdateLaunch& arguments, const Stream& stream) {
  const std::int64_t blocks = arguments.batch * ceil_divide(arguments.columns, kUpdateColumns);
  launch("fast_weight_update", fast_weight_update_kernel, {blocks, kUpdateThreads}, stream,
         arguments);
}

void launch_fast_weight_update_backward(const FastWeightUpdateBackwardLaunch& arguments,
                                        const Stream& stream) {
  const std::int64_t blocks = arguments.batch * ceil_divide(arguments.columns, kUpdateColumns);
  launch("fast_weight_update backward", fast_weight_update_backward_kernel,
         {blocks, kUpdateThreads}, stream, arguments);
}

}  // namespace ttt::ops::cuda
