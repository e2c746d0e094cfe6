// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/cpu_gemm_kernel.h"

#include "kernels/support/simd.h"
#include "kernels/support/simd_transpose.h"

#include <type_traits>

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

// Panels, and what is transposed, are read across rows that lie far apart, which the processor
// doesn't foresee: so far ahead, in rows or in columns.
constexpr std::int64_t kAheadRows = 8;
constexpr std::int64_t kAheadColumns = 64;

template <typename S>
TTT_INLINE void prefetch_row(const S* row, std::int64_t columns) {
  constexpr std::int64_t kLine = 64 / sizeof(S);
  for (std::int64_t c = 0; c < columns; c += kLine) __builtin_prefetch(row + c);
}

/// Row pairs of a panel.
TTT_INLINE void store_pair(Bf16* row, std::int64_t c, Float even, Float odd) {
  store(reinterpret_cast<float*>(row + 2 * c), paired(narrow(even), narrow(odd)));
}
TTT_INLINE void store_pair(float* row, std::int64_t c, Float even, Float odd) {
  store(row + c, even);
  store(row + kPanel + c, odd);
}

template <typename T>
TTT_INLINE Float load_or_zero(const T* row, std::int64_t c, std::int64_t count) {
  return count <= 0 ? Float{} : load_up_to(row + c, count);
}
TTT_INLINE Word words_or_zero(const Bf16* row, std::int64_t c, std::int64_t count) {
  return count <= 0 ? Word{} : load_words_up_to(row + c, count);
}

/// Two rows of a panel from `even` on, `count` columns of them.
template <typename S, typename T>
TTT_INLINE void pack_pair(const S* even, std::int64_t stride, bool has_odd, std::int64_t count,
                          float scale, T* panel) {
  for (std::int64_t c = 0; c < kPanel; c += kLanes) {
    const Float odd = has_odd ? load_or_zero(even + stride, c, count - c) : Float{};
    store_pair(panel, c, load_or_zero(even, c, count - c) * scale, odd * scale);
  }
}
/// The same without changing the elements.
TTT_INLINE void copy_pair(const Bf16* even, std::int64_t stride, bool has_odd, std::int64_t count,
                          Bf16* panel) {
  for (std::int64_t c = 0; c < kPanel; c += kLanes) {
    const Word odd = has_odd ? words_or_zero(even + stride, c, count - c) : Word{};
    store(reinterpret_cast<float*>(panel + 2 * c), paired(words_or_zero(even, c, count - c), odd));
  }
}

void pack(const PackSource& source, float scale, std::int64_t panel_stride, void* out,
          bool out_bf16) {
  with_types(source, out, out_bf16, [&]<typename S, typename T>(const S* in, T* packed) {
    for (std::int64_t first = 0; first < source.columns; first += kPanel) {
      T* panel = packed + first / kPanel * panel_stride;
      for (std::int64_t row = 0; row < source.rows; row += 2) {
        const S* even = in + row * source.stride + first;
        const bool has_odd = row + 1 < source.rows;
        const std::int64_t count = source.columns - first;
        prefetch_row(even + kAheadRows * source.stride, kPanel);
        prefetch_row(even + (kAheadRows + 1) * source.stride, kPanel);
        if constexpr (std::is_same_v<S, Bf16> && std::is_same_v<T, Bf16>) {
          if (scale == 1.0F) {
            copy_pair(even, source.stride, has_odd, count, panel + row * kPanel);
            continue;
          }
        }
        pack_pair(even, source.stride, has_odd, count, scale, panel + row * kPanel);
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
  for (int i = 0; i < kLanes; ++i) {
    const S* from = in + (row + i) * source.stride;
    __builtin_prefetch(from + column + kAheadColumns);
    rows[i] = row + i < source.rows ? load_or_zero(from, column, count) : Float{};
  }
  transpose_steps<1>(rows);
}

/// kLanes row pairs of kLanes columns from (row, column) on, transposed: every vector has the pairs
/// of a column.
TTT_INLINE void load_transposed_pairs(const Bf16* in, const PackSource& source, std::int64_t row,
                                      std::int64_t column, Float (&columns)[kLanes]) {
  const std::int64_t count = source.columns - column;
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    const Bf16* even = in + (row + 2 * i) * source.stride;
    const bool has_even = row + 2 * i < source.rows, has_odd = row + 2 * i + 1 < source.rows;
    columns[i] = paired(has_even ? words_or_zero(even, column, count) : Word{},
                        has_odd ? words_or_zero(even + source.stride, column, count) : Word{});
  }
  transpose_steps<1>(columns);
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

/// transpose() without changing the elements, two rows at a time.
void transpose_pairs(const PackSource& source, Bf16* out, std::int64_t out_stride) {
  const auto* in = static_cast<const Bf16*>(source.data);
  for (std::int64_t r = 0; r < out_stride; r += 2 * kLanes)
    for (std::int64_t c = 0; c < source.columns; c += kLanes) {
      Float columns[kLanes];
      load_transposed_pairs(in, source, r, c, columns);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i)
        if (c + i < source.columns)
          store_up_to(reinterpret_cast<float*>(out + (c + i) * out_stride + r), columns[i],
                      (out_stride - r) / 2);
    }
}

void transpose(const PackSource& source, void* out, std::int64_t out_stride, bool out_bf16) {
  if (source.bf16 && out_bf16) return transpose_pairs(source, static_cast<Bf16*>(out), out_stride);
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
