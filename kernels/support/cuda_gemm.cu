// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/cuda_gemm.cuh"
#include "kernels/support/cuda_launch.cuh"

namespace ttt::ops::cuda {

void launch_gemm(const GemmLaunch& arguments, const Stream& stream) {
  constexpr std::int64_t kLargest = 0x7fffffff;
  if (arguments.rows > kLargest || arguments.columns > kLargest || arguments.depth > kLargest)
    throw Failure("gemm: a matrix is too large", false);
  with_element_type(arguments.factors, [&](auto element) {
    using T = decltype(element);
    const std::int64_t blocks = arguments.samples * arguments.heads *
                                ceil_divide(arguments.rows, kGemmRows) *
                                ceil_divide(arguments.columns, kGemmColumns<T>);
    launch("gemm", gemm_kernel<T>, {blocks, kGemmThreads, GemmShared<T>::kBytes}, stream,
           arguments);
  });
}

}  // namespace ttt::ops::cuda
