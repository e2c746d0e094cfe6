// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The elementwise parts of the CPU version, between the products of cpu_gemm.h, on plain pointers;
// one table per instruction set. A panel holds 64 hidden channels of a tile of tokens, [rows, 64].

#include <cstdint>

namespace ttt::ops {

/// One panel on its way through the gate. Null pointers: not there, or not wanted.
struct SwigluPanel {
  std::int64_t rows = 0;
  bool bf16 = false;  ///< the factors below are bfloat16, else float
  // [rows, 64] each: a = x W0, c = x W2, r = y W1^T; in the gradient's backward pass also
  // p0 = k dG0, p1 = v dG1^T, p2 = k dG2.
  const float *a = nullptr, *c = nullptr, *r = nullptr;
  const float *p0 = nullptr, *p1 = nullptr, *p2 = nullptr;
  const float* rates[3] = {};  ///< per token; null: 1
  // Right factors of sums over the tokens, rows in pairs when bfloat16 (an odd number is completed
  // by a row of zeros), and left factors [rows, 64]. Float ones may lie where the inputs do, and
  // the right and left ones of the same values in one place.
  void *right_a = nullptr, *right_c = nullptr;
  void *left_a = nullptr, *left_c = nullptr, *left_y = nullptr;
  void *left_p0 = nullptr, *left_p1 = nullptr, *left_p2 = nullptr;
  float* drates[3] = {};  ///< per token, added to
};

struct SwigluKernels {
  /// out [rows, width] = silu(a) * c, all contiguous; out in float (it may be a) or bfloat16.
  void (*gate)(const float* a, const float* c, std::int64_t rows, std::int64_t width, void* out,
               bool out_bf16);
  /// right_a = left_a = eta0 r c silu'(a), right_c = left_c = eta2 r silu(a),
  /// left_y = eta1 silu(a) c
  void (*gradient)(const SwigluPanel& panel);
  /// Backward of the above: right_a = left_a = da, right_c = left_c = dc, left_y = dr;
  /// left_p0 = eta0 r c silu'(a), left_p1 = eta1 silu(a) c, left_p2 = eta2 r silu(a); drates.
  void (*gradient_backward)(const SwigluPanel& panel);
};

namespace baseline {
extern const SwigluKernels swiglu_kernels;
}
namespace avx2 {
extern const SwigluKernels swiglu_kernels;
}
namespace avx512 {
extern const SwigluKernels swiglu_kernels;
}

}  // namespace ttt::ops
