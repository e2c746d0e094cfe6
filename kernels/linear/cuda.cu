// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/cuda.h"
#include "kernels/linear/kernel.cuh"
#include "kernels/support/cuda_launch.cuh"

namespace ttt::ops::cuda {

void launch_linear_finish(const LinearFinishLaunch& arguments, const Stream& stream) {
  launch("linear", linear_finish_kernel,
         {ceil_divide(arguments.rows * arguments.columns, kLinearThreads), kLinearThreads}, stream,
         arguments);
}

void launch_linear_slope(const LinearSlopeLaunch& arguments, const Stream& stream) {
  launch("linear slope", linear_slope_kernel,
         {ceil_divide(arguments.rows * arguments.columns, kLinearThreads), kLinearThreads}, stream,
         arguments);
}

}  // namespace ttt::ops::cuda
