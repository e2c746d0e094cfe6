// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The vectorised inner loop of the rotation, on plain pointers; one table per instruction set.

#include <cstdint>

namespace ttt::ops {

struct RopeKernels {
  /// out[c] = x[c] * cosine[c] + x[c ^ 1] * sine[c] for `count` (even) channels; out may be x. The
  /// factors are laid out per channel: cosine (c, c) and sine (-s, s) of every pair.
  void (*rotate_float)(const float* x, const float* cosine, const float* sine, std::int64_t count,
                       float* out);
  /// The same on bfloat16.
  void (*rotate_bf16)(const void* x, const float* cosine, const float* sine, std::int64_t count,
                      void* out);
};

namespace baseline {
extern const RopeKernels rope_kernels;
}
namespace avx2 {
extern const RopeKernels rope_kernels;
}
namespace avx512 {
extern const RopeKernels rope_kernels;
}

}  // namespace ttt::ops
