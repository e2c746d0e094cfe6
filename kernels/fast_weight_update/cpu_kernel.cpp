// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/fast_weight_update/cpu_kernel.h"

#include "kernels/support/simd.h"

namespace ttt::ops::TTT_ISA {
namespace {

using Doubles = double __attribute__((vector_size(kLanes * 8)));

void update(const FastWeightStripe& s, double epsilon) {
  Doubles squares[kFastWeightColumns / kLanes] = {};
  for (std::int64_t row = 0; row < s.rows; ++row) {
    const std::int64_t at = row * s.stride;
    for (std::int64_t c = 0; c < s.columns; c += kLanes) {
      const std::int64_t count = s.columns - c;
      const Float sum = load_up_to(s.weight + at + c, count) + load_up_to(s.step + at + c, count);
      store_up_to(s.out + at + c, sum, count);
      const Doubles wide = __builtin_convertvector(sum, Doubles);
      squares[c / kLanes] += wide * wide;
    }
  }
  float factors[kFastWeightColumns];
  for (std::int64_t c = 0; c < s.columns; ++c) {
    const double length = __builtin_sqrt(squares[c / kLanes][c % kLanes]);
    factors[c] = static_cast<float>(static_cast<double>(s.norms[c]) / (length + epsilon));
  }
  for (std::int64_t row = 0; row < s.rows; ++row)
    for (std::int64_t c = 0; c < s.columns; c += kLanes) {
      float* const to = s.out + row * s.stride + c;
      const std::int64_t count = s.columns - c;
      store_up_to(to, load_up_to(to, count) * load_up_to(factors + c, count), count);
    }
}

}  // namespace

extern const FastWeightKernels fast_weight_kernels;
const FastWeightKernels fast_weight_kernels{update};

}  // namespace ttt::ops::TTT_ISA
