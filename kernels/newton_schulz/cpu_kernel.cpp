// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/newton_schulz/cpu_kernel.h"

#include "kernels/support/simd.h"
#include "kernels/support/simd_transpose.h"

namespace ttt::ops::TTT_ISA {
namespace {

constexpr std::int64_t kSide = kNewtonSchulzTile;

/// As `narrow`, but still a float: what is made of it needs no rounding any more.
TTT_INLINE Float rounded(Float x) {
  const UInt bits = reinterpret_cast<UInt>(x);
  const UInt up = (bits + 0x7FFFU + ((bits >> 16) & 1U)) & 0xFFFF0000U;
  return reinterpret_cast<Float>(x == x ? up : UInt{} + 0x7FC00000U);
}

TTT_INLINE void put(float* to, Float x) {
  store(to, x);
}
TTT_INLINE void put(Bf16* to, Float x) {
  *reinterpret_cast<UnalignedWord*>(to) = to_16_bits(reinterpret_cast<UInt>(x) >> 16);
}

/// Elements c.. of an even row of a panel and of the one below.
TTT_INLINE void put_pair(float* row, std::int64_t c, Float even, Float odd) {
  store(row + c, even);
  store(row + kSide + c, odd);
}
TTT_INLINE void put_pair(Bf16* row, std::int64_t c, Float even, Float odd) {
  const UInt low = reinterpret_cast<UInt>(even) >> 16;
  const UInt high = reinterpret_cast<UInt>(odd);
  store(reinterpret_cast<float*>(row + 2 * c), reinterpret_cast<Float>(low | high));
}

/// The sums in place: scaled, added to, and rounded where the factors are bfloat16.
template <typename T, typename A>
void combine(const NewtonSchulzTile& t, const A* add) {
  for (std::int64_t row = 0; row < kSide; ++row)
#pragma GCC unroll 4
    for (std::int64_t c = 0; c < kSide; c += kLanes) {
      Float x = load(t.sums + row * kSide + c) * t.sum_scale;
      if (add != nullptr) x += t.add_scale * load(add + row * t.add_stride + c);
      if (t.kept != nullptr) store(t.kept + row * kSide + c, x);
      store(t.sums + row * kSide + c, sizeof(T) == sizeof(Bf16) ? rounded(x) : x);
    }
}

void turn(const float* from, float* to) {
  for (std::int64_t row = 0; row < kSide; row += kLanes)
    for (std::int64_t c = 0; c < kSide; c += kLanes) {
      Float rows[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) rows[i] = load(from + (row + i) * kSide + c);
      transpose_steps<1>(rows);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) store(to + (c + i) * kSide + row, rows[i]);
    }
}

/// Copies what lies left of the diagonal.
void copy_lower(const float* from, float* to) {
  for (std::int64_t row = 1; row < kSide; ++row)
    for (std::int64_t c = 0; c < row; c += kLanes)
      store_up_to(to + row * kSide + c, load(from + row * kSide + c), row - c);
}

template <typename T>
void write_left(const float* tile, T* to, std::int64_t stride) {
  for (std::int64_t row = 0; row < kSide; ++row)
#pragma GCC unroll 4
    for (std::int64_t c = 0; c < kSide; c += kLanes)
      put(to + row * stride + c, load(tile + row * kSide + c));
}

template <typename T>
void write_right(const float* tile, T* to) {
  for (std::int64_t row = 0; row < kSide; row += 2)
#pragma GCC unroll 4
    for (std::int64_t c = 0; c < kSide; c += kLanes)
      put_pair(to + row * kSide, c, load(tile + row * kSide + c),
               load(tile + (row + 1) * kSide + c));
}

void write_out(const float* tile, float* to, std::int64_t stride, std::int64_t rows,
               std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t c = 0; c < columns; c += kLanes)
      store_up_to(to + row * stride + c, load(tile + row * kSide + c), columns - c);
}

template <typename T>
void finish_as(const NewtonSchulzTile& t) {
  if (t.add_bf16) {
    combine<T>(t, static_cast<const Bf16*>(t.add));
  } else {
    combine<T>(t, static_cast<const float*>(t.add));
  }
  const bool out_turned = t.out.data != nullptr && t.out.turned;
  if (t.symmetric || t.left_turned != nullptr || t.right_turned != nullptr || out_turned)
    turn(t.sums, t.turned);
  if (t.symmetric) copy_lower(t.turned, t.sums);
  if (t.left != nullptr) write_left(t.sums, static_cast<T*>(t.left), t.left_stride);
  if (t.left_turned != nullptr) write_left(t.turned, static_cast<T*>(t.left_turned), t.left_stride);
  if (t.right != nullptr) write_right(t.sums, static_cast<T*>(t.right));
  if (t.right_turned != nullptr) write_right(t.turned, static_cast<T*>(t.right_turned));
  if (out_turned) {
    write_out(t.turned, t.out.data, t.out.stride, t.columns, t.rows);
  } else if (t.out.data != nullptr) {
    write_out(t.sums, t.out.data, t.out.stride, t.rows, t.columns);
  }
}

void finish(const NewtonSchulzTile& tile) {
  if (tile.bf16) {
    finish_as<Bf16>(tile);
  } else {
    finish_as<float>(tile);
  }
}

void load_tile(const FloatMatrix& from, std::int64_t rows, std::int64_t columns, float scale,
               float* tile, float* scratch) {
  const std::int64_t height = from.turned ? columns : rows, width = from.turned ? rows : columns;
  float* const to = from.turned ? scratch : tile;
  for (std::int64_t row = 0; row < kSide; ++row)
    for (std::int64_t c = 0; c < kSide; c += kLanes) {
      const bool inside = row < height && c < width;
      store(to + row * kSide + c,
            inside ? load_up_to(from.data + row * from.stride + c, width - c) * scale : Float{});
    }
  if (from.turned) turn(scratch, tile);
}

double square_sum(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t columns) {
  using Doubles = double __attribute__((vector_size(kLanes * 8)));
  Doubles sums{};
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t c = 0; c < columns; c += kLanes) {
      const Float x = load_up_to(from + row * stride + c, columns - c);
      const Doubles wide = __builtin_convertvector(x, Doubles);
      sums += wide * wide;
    }
  double total = 0;
  for (int i = 0; i < kLanes; ++i) total += sums[i];
  return total;
}

}  // namespace

extern const NewtonSchulzKernels newton_schulz_kernels;
const NewtonSchulzKernels newton_schulz_kernels{finish, load_tile, square_sum};

}  // namespace ttt::ops::TTT_ISA
