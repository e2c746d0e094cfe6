// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/cuda.h"
#include "kernels/linear/kernel.cuh"
#include "kernels/linear/product.cuh"
#include "kernels/support/cuda_launch.cuh"

namespace ttt::ops::cuda {

void launch_linear(const LinearLaunch& arguments, const Stream& stream) {
  constexpr std::int64_t kLargest = 0x7fffffff;
  if (arguments.rows > kLargest || arguments.columns > kLargest || arguments.depth > kLargest)
    throw Failure("linear: a matrix is too large", false);
  with_element_type(arguments.factors, [&](auto element) {
    using T = decltype(element);
    using Shared = LinearShared<T>;
    const std::int64_t blocks = ceil_divide(arguments.rows, kLinearTileRows) *
                                ceil_divide(arguments.columns, Shared::kColumns);
    const LaunchShape shape{blocks, kLinearTileThreads, Shared::kBytes};
    if (arguments.norm.weight != nullptr) {
      launch("linear", linear_kernel<T, true>, shape, stream, arguments);
    } else {
      launch("linear", linear_kernel<T, false>, shape, stream, arguments);
    }
  });
}

void launch_linear_slope(const LinearSlopeLaunch& arguments, const Stream& stream) {
  launch("linear slope", linear_slope_kernel,
         {ceil_divide(arguments.rows * arguments.columns, kLinearThreads), kLinearThreads}, stream,
         arguments);
}

}  // namespace ttt::ops::cuda
