// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope_2d/cpu_kernel.h"

#include "kernels/support/simd.h"

namespace ttt::ops::TTT_ISA {
namespace {

/// Exchanges the two elements of every pair.
TTT_INLINE Float swap_pairs(Float x) {
  Int order;
  for (int i = 0; i < kLanes; ++i) order[i] = i ^ 1;
  return __builtin_shuffle(x, order);
}

template <typename T>
void rotate(const T* x, const float* cosine, const float* sine, std::int64_t count, T* out) {
  for (std::int64_t c = 0; c < count; c += kLanes) {
    const std::int64_t rest = count - c;
    const Float value = load_up_to(x + c, rest);
    const Float turned =
        value * load_up_to(cosine + c, rest) + swap_pairs(value) * load_up_to(sine + c, rest);
    store_up_to(out + c, turned, rest);
  }
}

void rotate_bf16(const void* x, const float* cosine, const float* sine, std::int64_t count,
                 void* out) {
  rotate(static_cast<const Bf16*>(x), cosine, sine, count, static_cast<Bf16*>(out));
}

}  // namespace

extern const RopeKernels rope_kernels;
const RopeKernels rope_kernels{rotate<float>, rotate_bf16};

}  // namespace ttt::ops::TTT_ISA
