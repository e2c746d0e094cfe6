// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope_2d/cpu_kernel.h"

#include "kernels/support/simd_rotate.h"

namespace ttt::ops::TTT_ISA {
namespace {

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
