// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope_2d/cuda.h"
#include "kernels/rope_2d/kernel.cuh"
#include "kernels/support/cuda_launch.cuh"

namespace ttt::ops::cuda {
namespace {

template <typename T, int kPairs>
void launch_with(const RopeLaunch& arguments, const Stream& stream) {
  const std::int64_t threads =
      arguments.height * arguments.width * (arguments.channels / 2 / kPairs);
  if (threads > 0x7fffffff) throw Failure("rope_2d: too many tokens and channels", false);
  const std::int64_t blocks = ceil_divide(threads, kRopeThreads);
  const std::int64_t sample_groups = ceil_divide(arguments.batch, kRopeSamples);
  launch("rope_2d", rope_kernel<T, kPairs>, {blocks * sample_groups, kRopeThreads}, stream,
         arguments, static_cast<unsigned int>(blocks));
}

}  // namespace

void launch_rope_2d(const RopeLaunch& arguments, const Stream& stream) {
  with_element_type(arguments.type, [&](auto element) {
    using T = decltype(element);
    constexpr int kPairs = kVectorElements<T> / 2;
    const bool vectors = arguments.channels / 4 % kPairs == 0 &&
                         is_aligned(sizeof(T), 2 * kPairs, {arguments.x, arguments.out},
                                    {arguments.x_strides.batch, arguments.x_strides.token,
                                     arguments.out_strides.batch, arguments.out_strides.token});
    if (vectors) return launch_with<T, kPairs>(arguments, stream);
    launch_with<T, 1>(arguments, stream);
  });
}

}  // namespace ttt::ops::cuda
