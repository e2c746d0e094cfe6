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
TTT_INLINE void rotate(const T* x, const float* cosine, const float* sine, std::int64_t count,
                       T* out) {
  std::int64_t c = 0;
  for (; c + kLanes <= count; c += kLanes) {
    const Float value = load(x + c);
    store(out + c, value * load(cosine + c) + swap_pairs(value) * load(sine + c));
  }
  if (c == count) return;
  const Float value = load_first(x + c, count - c);
  const Float turned = value * load_first(cosine + c, count - c) +
                       swap_pairs(value) * load_first(sine + c, count - c);
  store_first(out + c, turned, count - c);
}

template <typename T>
void rotate_row(const RopeRow& row) {
  const T* x = static_cast<const T*>(row.x);
  T* out = static_cast<T*>(row.out);
  for (std::int64_t t = 0; t < row.tokens; ++t, x += row.x_stride, out += row.out_stride) {
    rotate(x, row.row_cosine, row.row_sine, row.half, out);
    rotate(x + row.half, row.column_cosine + t * row.half, row.column_sine + t * row.half, row.half,
           out + row.half);
  }
}

}  // namespace

extern const RopeKernels rope_kernels;
const RopeKernels rope_kernels{rotate_row<float>, rotate_row<Bf16>};

}  // namespace ttt::ops::TTT_ISA
