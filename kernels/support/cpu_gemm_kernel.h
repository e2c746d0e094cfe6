// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Packing of the factors of cpu_gemm.h, on plain pointers; one table per instruction set.

#include <cstdint>

namespace ttt::ops {

/// A matrix [rows, columns] of float or bfloat16 with adjacent elements in its rows.
struct PackSource {
  const void* data;
  std::int64_t stride;  ///< of the rows
  std::int64_t rows, columns;
  bool bf16;
};

struct GemmKernels {
  /// The matrix times `scale` as a right factor: panels `panel_stride` elements apart.
  void (*pack)(const PackSource& source, float scale, std::int64_t panel_stride, void* out,
               bool out_bf16);
  /// Its transpose as a right factor (depth = columns).
  void (*pack_transposed)(const PackSource& source, float scale, std::int64_t panel_stride,
                          void* out, bool out_bf16);
  /// Its transpose as a left factor: `columns` rows of `out`, out_stride >= rows elements apart
  /// (even for bfloat16), zeros behind the first `rows`.
  void (*transpose)(const PackSource& source, void* out, std::int64_t out_stride, bool out_bf16);
  /// A copy in another type, rows out_stride apart.
  void (*convert)(const PackSource& source, void* out, std::int64_t out_stride, bool out_bf16);
};

namespace baseline {
extern const GemmKernels gemm_kernels;
}
namespace avx2 {
extern const GemmKernels gemm_kernels;
}
namespace avx512 {
extern const GemmKernels gemm_kernels;
}

}  // namespace ttt::ops
