// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/rope_2d/cuda.h"
#include "kernels/support/cuda_device.cuh"

namespace ttt::ops::cuda {

constexpr int kRopeThreads = 256;
constexpr int kRopeSamples = 8;  // of the batch that one thread rotates with the same angles

/// One thread rotates kPairs adjacent pairs of one token, in up to kRopeSamples samples; the pairs
/// lie on one axis. Blocks are numbered (group of samples, block of tokens and pairs).
template <typename T, int kPairs>
__global__ void __launch_bounds__(kRopeThreads)
    rope_kernel(RopeLaunch arguments, unsigned int blocks) {
  const auto pairs_per_axis = static_cast<unsigned int>(arguments.channels / 4);
  const auto width = static_cast<unsigned int>(arguments.width);
  const auto tokens = static_cast<unsigned int>(arguments.height) * width;
  const unsigned int groups = 2 * pairs_per_axis / kPairs;  // of pairs, in a token
  const unsigned int index = blockIdx.x % blocks * kRopeThreads + threadIdx.x;
  if (index >= tokens * groups) return;
  const unsigned int token = index / groups, pair = index % groups * kPairs;
  const bool row_axis = pair < pairs_per_axis;
  const std::int64_t position = row_axis ? token / width : token % width;
  const std::int64_t entry = position * pairs_per_axis + (row_axis ? pair : pair - pairs_per_axis);
  float cosine[kPairs], sine[kPairs];
#pragma unroll
  for (int p = 0; p < kPairs; ++p) {
    cosine[p] = (row_axis ? arguments.row_cos : arguments.column_cos)[entry + p];
    sine[p] = (row_axis ? arguments.row_sin : arguments.column_sin)[entry + p];
    if (arguments.inverse) sine[p] = -sine[p];
  }
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x / blocks) * kRopeSamples;
  const std::int64_t end = min(first + kRopeSamples, arguments.batch);
  const T* x = static_cast<const T*>(arguments.x) + token * arguments.x_strides.token + 2 * pair;
  T* out = static_cast<T*>(arguments.out) + token * arguments.out_strides.token + 2 * pair;
  // A single pair may lie anywhere; more of them are read as one vector.
  constexpr int kWidth = kPairs == 1 ? 1 : 2 * kPairs;
  for (std::int64_t b = first; b < end; ++b) {
    Vector<T, kWidth> values[2 * kPairs / kWidth];
#pragma unroll
    for (int i = 0; i < 2 * kPairs / kWidth; ++i)
      values[i] = load_vector<T, kWidth>(x + b * arguments.x_strides.batch + i * kWidth);
#pragma unroll
    for (int p = 0; p < kPairs; ++p) {
      T& first_of_pair = values[2 * p / kWidth].data[2 * p % kWidth];
      T& second_of_pair = values[(2 * p + 1) / kWidth].data[(2 * p + 1) % kWidth];
      const float u = to_float(first_of_pair), v = to_float(second_of_pair);
      first_of_pair = from_float<T>(u * cosine[p] - v * sine[p]);
      second_of_pair = from_float<T>(u * sine[p] + v * cosine[p]);
    }
#pragma unroll
    for (int i = 0; i < 2 * kPairs / kWidth; ++i)
      store_vector<T, kWidth>(out + b * arguments.out_strides.batch + i * kWidth, values[i]);
  }
}

}  // namespace ttt::ops::cuda
