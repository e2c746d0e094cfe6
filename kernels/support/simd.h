// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Vectors of floats for the cpu_kernel.cpp files, which are compiled once per instruction set. All
// of it lives in a namespace of the instruction set and nothing but freestanding headers is
// included, so that no inline function compiled for a newer processor can be linked into common
// code.

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if !defined(TTT_ISA)
#error "simd.h is for files compiled with TTT_ISA defined (see ttt_add_op)"
#endif

#define TTT_INLINE static inline __attribute__((always_inline))
#define TTT_LAMBDA_INLINE __attribute__((always_inline))

namespace ttt::ops {

/// Storage of a bfloat16, as LibTorch lays it out.
struct Bf16 {
  std::uint16_t bits;
};

namespace TTT_ISA {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

using Float = float __attribute__((vector_size(kLanes * 4)));
using Int = std::int32_t __attribute__((vector_size(kLanes * 4)));
using UInt = std::uint32_t __attribute__((vector_size(kLanes * 4)));
using Word = std::uint16_t __attribute__((vector_size(kLanes * 2)));
using UnalignedFloat = float __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
using UnalignedUInt = std::uint32_t __attribute__((vector_size(kLanes * 4), aligned(2), may_alias));
using UnalignedWord = std::uint16_t __attribute__((vector_size(kLanes * 2), aligned(2), may_alias));

TTT_INLINE Float broadcast(float x) {
  return Float{} + x;
}

// GCC converts between vectors of 16 and 32 bits by halves; the processor does it in one step. (The
// forms without a mask give a false warning.)
#if defined(__AVX512F__)
constexpr __mmask16 kAllLanes = 0xFFFF;
TTT_INLINE UInt to_32_bits(Word words) {
  return UInt(_mm512_maskz_cvtepu16_epi32(kAllLanes, __m256i(words)));
}
TTT_INLINE Word to_16_bits(UInt bits) {
  return Word(_mm512_maskz_cvtepi32_epi16(kAllLanes, __m512i(bits)));
}
#else
TTT_INLINE UInt to_32_bits(Word words) {
  return __builtin_convertvector(words, UInt);
}
TTT_INLINE Word to_16_bits(UInt bits) {
  return __builtin_convertvector(bits, Word);
}
#endif

TTT_INLINE Float widen(Word words) {
  return reinterpret_cast<Float>(to_32_bits(words) << 16);
}

/// To bfloat16 in the upper half, to nearest, ties to even; NaN stays NaN. The lower half is junk.
TTT_INLINE UInt round_to_bf16(Float x) {
  const UInt bits = reinterpret_cast<UInt>(x);
  const UInt rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
  return x == x ? rounded : UInt{} + 0x7FC00000U;
}
TTT_INLINE Word narrow(Float x) {
  return to_16_bits(round_to_bf16(x) >> 16);
}

/// Elements of an even and of an odd row side by side, as bfloat16 products take them.
TTT_INLINE Float paired(Word even, Word odd) {
  return reinterpret_cast<Float>(to_32_bits(even) | to_32_bits(odd) << 16);
}

TTT_INLINE Float load(const float* p) {
  return *reinterpret_cast<const UnalignedFloat*>(p);
}
TTT_INLINE Word load_words(const Bf16* p) {
  return Word(*reinterpret_cast<const UnalignedWord*>(p));
}
TTT_INLINE Float load(const Bf16* p) {
  return widen(load_words(p));
}
TTT_INLINE void store(float* p, Float x) {
  *reinterpret_cast<UnalignedFloat*>(p) = x;
}
TTT_INLINE void store(Bf16* p, Float x) {
  *reinterpret_cast<UnalignedWord*>(p) = narrow(x);
}

#if defined(__AVX512F__)
TTT_INLINE __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>((1U << count) - 1U);
}
/// The first `count` < kLanes elements, zeros behind them; nothing beyond is read.
TTT_INLINE Float load_first(const float* p, std::int64_t count) {
  return Float(_mm512_maskz_loadu_ps(first_lanes(count), p));
}
TTT_INLINE Word load_first_words(const Bf16* p, std::int64_t count) {
  return Word(_mm256_maskz_loadu_epi16(first_lanes(count), p));
}
TTT_INLINE void store_first(float* p, Float x, std::int64_t count) {
  _mm512_mask_storeu_ps(p, first_lanes(count), __m512(x));
}
TTT_INLINE void store_first(Bf16* p, Float x, std::int64_t count) {
  _mm256_mask_storeu_epi16(p, first_lanes(count), __m256i(narrow(x)));
}
#else
TTT_INLINE Float load_first(const float* p, std::int64_t count) {
  Float x{};
  for (std::int64_t i = 0; i < count; ++i) x[i] = p[i];
  return x;
}
TTT_INLINE Word load_first_words(const Bf16* p, std::int64_t count) {
  Word x{};
  for (std::int64_t i = 0; i < count; ++i) x[i] = p[i].bits;
  return x;
}
TTT_INLINE void store_first(float* p, Float x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) p[i] = x[i];
}
TTT_INLINE void store_first(Bf16* p, Float x, std::int64_t count) {
  const Word words = narrow(x);
  for (std::int64_t i = 0; i < count; ++i) p[i].bits = words[i];
}
#endif

TTT_INLINE Float load_first(const Bf16* p, std::int64_t count) {
  return widen(load_first_words(p, count));
}

/// A whole vector, or the first `count` lanes when `count` is less.
TTT_INLINE Word load_words_up_to(const Bf16* p, std::int64_t count) {
  return count >= kLanes ? load_words(p) : load_first_words(p, count);
}
template <typename T>
TTT_INLINE Float load_up_to(const T* p, std::int64_t count) {
  return count >= kLanes ? load(p) : load_first(p, count);
}
template <typename T>
TTT_INLINE void store_up_to(T* p, Float x, std::int64_t count) {
  if (count >= kLanes) {
    store(p, x);
  } else {
    store_first(p, x, count);
  }
}

TTT_INLINE Float square_root(Float x) {
#if defined(__AVX512F__)
  return Float(_mm512_maskz_sqrt_ps(kAllLanes, __m512(x)));
#elif defined(__AVX2__)
  return Float(_mm256_sqrt_ps(__m256(x)));
#else
  for (int i = 0; i < kLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}

/// e^x to about 1 ulp; 0 below -87.33 (no subnormal results), infinity above 88.72, NaN stays NaN.
TTT_INLINE Float exponential(Float x) {
  const float kRoundToInteger = 12582912.0F;  // 1.5 * 2^23
  const float kLog2E = 1.44269504F;
  const float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  const float kLowest = -87.33F, kHighest = 88.72F;
  const Float shifted = x * kLog2E + kRoundToInteger;
  const Float n = shifted - kRoundToInteger;
  const Float r = x - n * kLn2High - n * kLn2Low;
  // Minimax fit of e^r on |r| <= ln(2)/2, relative error 3e-9.
  Float p = r * 1.381439040e-3F + 8.368787356e-3F;
  p = p * r + 4.166839644e-2F;
  p = p * r + 1.666651964e-1F;
  p = p * r + 4.999999404e-1F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  // Unsigned, since arguments outside the limits wrap around; they are replaced below.
  const UInt exponent = reinterpret_cast<UInt>(shifted) << 23;
  Float result = reinterpret_cast<Float>(reinterpret_cast<UInt>(p) + exponent);
  result = x < kLowest ? Float{} : result;
  result = x > kHighest ? broadcast(__builtin_inff()) : result;
  return x == x ? result : x;
}

TTT_INLINE Float sigmoid(Float z) {
  return 1.0F / (1.0F + exponential(-z));
}

/// erf(x) to about 2 ulp: x times a rational minimax fit in x^2 on |x| <= 3.92, where erf is 1 in
/// float; NaN stays NaN.
TTT_INLINE Float error_function(Float x) {
  const float kLimit = 3.92F;
  const Float magnitude = x < 0.0F ? -x : x;
  const Float clamped = magnitude > kLimit ? broadcast(kLimit) : magnitude;
  const Float t = clamped * clamped;
  Float p = t * 2.0506204e-6F + 2.8463840e-4F;
  p = p * t + 3.7575336e-3F;
  p = p * t + 5.2723430e-2F;
  p = p * t + 1.9022676e-1F;
  p = p * t + 1.1283791F;
  Float q = t * 3.8084527e-5F + 1.1604622e-3F;
  q = q * t + 1.4953026e-2F;
  q = q * t + 1.1403346e-1F;
  q = q * t + 5.0191689e-1F;
  q = q * t + 1.0F;
  // Exactly 1 far out, so that 1 + erf is 0 on the left.
  const Float result = magnitude > kLimit ? broadcast(1.0F) : clamped * p / q;
  return x < 0.0F ? -result : result;
}

TTT_INLINE Float gelu(Float z) {
  return 0.5F * z * (1.0F + error_function(z * 0.70710678F));
}

/// d gelu / dz
TTT_INLINE Float gelu_slope(Float z) {
  const float kInverseSqrtTwoPi = 0.39894228F;
  return 0.5F * (1.0F + error_function(z * 0.70710678F)) +
         z * kInverseSqrtTwoPi * exponential(-0.5F * z * z);
}

}  // namespace TTT_ISA
}  // namespace ttt::ops
