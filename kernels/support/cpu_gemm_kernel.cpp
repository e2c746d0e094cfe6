// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/cpu_gemm_kernel.h"

#include "kernels/support/simd.h"
#include "kernels/support/simd_transpose.h"

namespace ttt::ops::TTT_ISA {
namespace {

constexpr std::int64_t kPanel = 64;
/// Calls f(typed source, typed output).
template <typename F>
TTT_INLINE void with_types(const PackSource& source, void* out, bool out_bf16, const F& f) {
  const auto* from_float = static_cast<const float*>(source.data);
  const auto* from_bf16 = static_cast<const Bf16*>(source.data);
  if (source.bf16) {
    out_bf16 ? f(from_bf16, static_cast<Bf16*>(out)) : f(from_bf16, static_cast<float*>(out));
  } else {
    out_bf16 ? f(from_float, static_cast<Bf16*>(out)) : f(from_float, static_cast<float*>(out));
  }
}

/// Row pairs of a panel: elements of the even and the odd row side by side.
TTT_INLINE void store_pair(Bf16* row, std::int64_t c, Float even, Float odd) {
  const UInt low = __builtin_convertvector(narrow(even), UInt);
  const UInt high = __builtin_convertvector(narrow(odd), UInt) << 16;
  store(reinterpret_cast<float*>(row + 2 * c), reinterpret_cast<Float>(low | high));
}
TTT_INLINE void store_pair(float* row, std::int64_t c, Float even, Float odd) {
  store(row + c, even);
  store(row + kPanel + c, odd);
}

template <typename T>
TTT_INLINE Float load_or_zero(const T* row, std::int64_t c, std::int64_t count) {
  return count <= 0 ? Float{} : load_up_to(row + c, count);
}

void pack(const PackSource& source, float scale, std::int64_t panel_stride, void* out,
          bool out_bf16) {
  with_types(source, out, out_bf16, [&]<typename S, typename T>(const S* in, T* packed) {
    for (std::int64_t first = 0; first < source.columns; first += kPanel) {
      T* panel = packed + first / kPanel * panel_stride;
      for (std::int64_t row = 0; row < source.rows; row += 2) {
        const S* even = in + row * source.stride + first;
        const bool has_odd = row + 1 < source.rows;
        for (std::int64_t c = 0; c < kPanel; c += kLanes) {
          const std::int64_t count = source.columns - first - c;
          const Float odd = has_odd ? load_or_zero(even + source.stride, c, count) : Float{};
          store_pair(panel + row * kPanel, c, load_or_zero(even, c, count) * scale, odd * scale);
        }
      }
    }
  });
}

/// The square of kLanes x kLanes elements at (row, column) of a source, transposed; zeros outside
/// it.
template <typename S>
TTT_INLINE void load_transposed(const S* in, const PackSource& source, std::int64_t row,
                                std::int64_t column, Float (&rows)[kLanes]) {
  const std::int64_t count = source.columns - column;
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i)
    rows[i] = row + i < source.rows ? load_or_zero(in + (row + i) * source.stride, column, count)
                                    : Float{};
  transpose_steps<1>(rows);
}

void pack_transposed(const PackSource& source, float scale, std::int64_t panel_stride, void* out,
                     bool out_bf16) {
  const std::int64_t padded_depth = (source.columns + 1) / 2 * 2;
  with_types(source, out, out_bf16, [&]<typename S, typename T>(const S* in, T* packed) {
    for (std::int64_t first = 0; first < source.rows; first += kPanel) {
      T* panel = packed + first / kPanel * panel_stride;
      for (std::int64_t k = 0; k < padded_depth; k += kLanes)
        for (std::int64_t j = 0; j < kPanel; j += kLanes) {
          Float rows[kLanes];
          load_transposed(in, source, first + j, k, rows);
#pragma GCC unroll 8
          for (int i = 0; i < kLanes; i += 2)
            if (k + i < padded_depth)
              store_pair(panel + (k + i) * kPanel, j, rows[i] * scale, rows[i + 1] * scale);
        }
    }
  });
}

void transpose(const PackSource& source, void* out, std::int64_t out_stride, bool out_bf16) {
  with_types(source, out, out_bf16, [&]<typename S, typename T>(const S* in, T* result) {
    for (std::int64_t c = 0; c < source.columns; c += kLanes)
      for (std::int64_t r = 0; r < out_stride; r += kLanes) {
        Float rows[kLanes];
        load_transposed(in, source, r, c, rows);
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i)
          if (c + i < source.columns)
            store_up_to(result + (c + i) * out_stride + r, rows[i], out_stride - r);
      }
  });
}

void convert(const PackSource& source, void* out, std::int64_t out_stride, bool out_bf16) {
  with_types(source, out, out_bf16, [&]<typename S, typename T>(const S* in, T* result) {
    for (std::int64_t row = 0; row < source.rows; ++row)
      for (std::int64_t c = 0; c < source.columns; c += kLanes)
        store_up_to(result + row * out_stride + c,
                    load_up_to(in + row * source.stride + c, source.columns - c),
                    source.columns - c);
  });
}

}  // namespace

extern const GemmKernels gemm_kernels;
const GemmKernels gemm_kernels{pack, pack_transposed, transpose, convert};

}  // namespace ttt::ops::TTT_ISA
