// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Transposing squares of vectors, for the cpu_kernel.cpp files (see simd.h).

#include "kernels/support/simd.h"

namespace ttt::ops::TTT_ISA {

/// Lanes whose number has the bit `kStep` set take the other vector's, `kStep` lanes away: one step
/// of transposing a square of vectors.
template <int kStep>
TTT_INLINE void swap_lanes(Float& low, Float& high) {
  Int take_low, take_high;  // indices into (low, high)
  for (int lane = 0; lane < kLanes; ++lane) {
    take_low[lane] = (lane & kStep) != 0 ? kLanes + lane - kStep : lane;
    take_high[lane] = (lane & kStep) != 0 ? kLanes + lane : lane + kStep;
  }
  const Float first = __builtin_shuffle(low, high, take_low);
  high = __builtin_shuffle(low, high, take_high);
  low = first;
}

/// Transposes a square of vectors, from kStep = 1 on.
template <int kStep>
TTT_INLINE void transpose_steps(Float (&rows)[kLanes]) {
  if constexpr (kStep < kLanes) {
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i)
      if ((i & kStep) == 0) swap_lanes<kStep>(rows[i], rows[i + kStep]);
    transpose_steps<2 * kStep>(rows);
  }
}

}  // namespace ttt::ops::TTT_ISA
