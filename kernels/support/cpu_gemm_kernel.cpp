// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/cpu_gemm_kernel.h"

#include "kernels/support/simd.h"

namespace ttt::ops::TTT_ISA {
namespace {

constexpr std::int64_t kPanel = 64;
constexpr std::int64_t kBlock = 16;  // square blocks of a transposition

TTT_INLINE std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
TTT_INLINE float to_float(float x) {
  return x;
}
TTT_INLINE float to_float(Bf16 x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x.bits) << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}
TTT_INLINE void put(float* out, float x) {
  *out = x;
}
TTT_INLINE void put(Bf16* out, float x) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  out->bits =
      x == x ? static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16) : 0x7FC0U;
}

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

/// Index of element (row, column) in a panel.
TTT_INLINE std::int64_t panel_index(const float*, std::int64_t row, std::int64_t column) {
  return row * kPanel + column;
}
TTT_INLINE std::int64_t panel_index(const Bf16*, std::int64_t row, std::int64_t column) {
  return row / 2 * (2 * kPanel) + 2 * column + row % 2;
}

void pack_transposed(const PackSource& source, float scale, std::int64_t panel_stride, void* out,
                     bool out_bf16) {
  const std::int64_t depth = source.columns, padded_depth = (depth + 1) / 2 * 2;
  with_types(source, out, out_bf16, [&]<typename S, typename T>(const S* in, T* packed) {
    for (std::int64_t first = 0; first < source.rows; first += kPanel) {
      T* panel = packed + first / kPanel * panel_stride;
      const std::int64_t columns = smaller(kPanel, source.rows - first);
      for (std::int64_t k = 0; k < padded_depth; k += kBlock)
        for (std::int64_t j = 0; j < kPanel; j += kBlock)
          for (std::int64_t jj = j; jj < j + kBlock; ++jj) {
            const S* row = in + (first + jj) * source.stride;
            for (std::int64_t kk = k; kk < smaller(k + kBlock, padded_depth); ++kk)
              put(panel + panel_index(panel, kk, jj),
                  jj < columns && kk < depth ? to_float(row[kk]) * scale : 0.0F);
          }
    }
  });
}

void transpose(const PackSource& source, void* out, std::int64_t out_stride, bool out_bf16) {
  with_types(source, out, out_bf16, [&]<typename S, typename T>(const S* in, T* result) {
    for (std::int64_t r = 0; r < out_stride; r += kBlock)
      for (std::int64_t c = 0; c < source.columns; c += kBlock)
        for (std::int64_t rr = r; rr < smaller(r + kBlock, out_stride); ++rr)
          for (std::int64_t cc = c; cc < smaller(c + kBlock, source.columns); ++cc)
            put(result + cc * out_stride + rr,
                rr < source.rows ? to_float(in[rr * source.stride + cc]) : 0.0F);
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
