// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CPU version's forward pass on plain pointers; one table per instruction set.

#include <cstdint>

namespace ttt::ops {

/// Columns that a call takes at most: their rows then come a kilobyte at a time, and stay in the
/// second-level cache until they are scaled.
constexpr std::int64_t kFastWeightColumns = 256;

/// Some columns of a matrix. Rows are `stride` apart in all three.
struct FastWeightStripe {
  const float* weight = nullptr;
  const float* step = nullptr;
  const float* norms = nullptr;  ///< [columns]
  float* out = nullptr;
  std::int64_t rows = 0, stride = 0, columns = 0;
};

struct FastWeightKernels {
  /// out = (weight + step), each column scaled to its norm.
  void (*update)(const FastWeightStripe& stripe, double epsilon);
};

namespace baseline {
extern const FastWeightKernels fast_weight_kernels;
}
namespace avx2 {
extern const FastWeightKernels fast_weight_kernels;
}
namespace avx512 {
extern const FastWeightKernels fast_weight_kernels;
}

}  // namespace ttt::ops
