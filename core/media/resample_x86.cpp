// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums of bytes times weights of 24 bits are made of products that the processor has: each weight
// is split into signed digits, and the sums of the digits are put together at the end. That is
// exact modulo 2^32, and the sum itself fits.
#include "core/media/resample_passes.h"

#if defined(__x86_64__)
#include <cstring>
#include <immintrin.h>
#endif

namespace ttt::resample {

#if defined(__x86_64__)
namespace {

/// The lowest `bits` bits of a value as a signed digit; the value goes on to the next digit.
std::int32_t take_digit(std::int32_t& value, int bits) {
  const std::int32_t range = 1 << bits;
  std::int32_t digit = value & (range - 1);
  if (digit >= range / 2) digit -= range;
  value = (value - digit) >> bits;
  return digit;
}

/// Writes column x of a block, a pixel of three bytes for each row. Except in the last column a
/// fourth byte goes along, which the next column overwrites.
void store_column(const RowBlock& block, std::size_t x, bool last,
                  const std::array<std::uint32_t, kBlockRows>& pixels) {
  for (std::size_t r = 0; r < pixels.size(); ++r) {
    if (last)
      std::memcpy(block.to[r] + 3 * x, &pixels[r], 3);
    else
      std::memcpy(block.to[r] + 3 * x, &pixels[r], 4);
  }
}

constexpr int kDigitBits16 = 12;

/// The digits of a group's weights as pairs of 16 bits: high of taps 0 and 1, of 2 and 3, low of 0
/// and 1, of 2 and 3. They take the places of the weights.
std::vector<std::int32_t> digits_of_16_bits(const std::vector<std::int32_t>& weights) {
  std::vector<std::int32_t> digits(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::int32_t rest = weights[i];
    const std::int32_t low = take_digit(rest, kDigitBits16);
    const std::size_t group = i / kGroup * kGroup;
    const std::size_t pair = i % kGroup / 2;
    const int shift = i % 2 == 0 ? 0 : 16;
    digits[group + pair] |=
        static_cast<std::int32_t>((static_cast<std::uint32_t>(rest) & 0xFFFFU) << shift);
    digits[group + 2 + pair] |=
        static_cast<std::int32_t>((static_cast<std::uint32_t>(low) & 0xFFFFU) << shift);
  }
  return digits;
}

__attribute__((target("avx2"))) inline __m256i load_two_rows(const std::uint8_t* a,
                                                             const std::uint8_t* b) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)), 1);
}

/// Adds the products of two pixels of two rows: red, green, blue and nothing, of 32 bits each.
__attribute__((target("avx2"))) inline __m256i add_pixels(__m256i sum, __m256i bytes, __m256i order,
                                                          std::int32_t weights) {
  return _mm256_add_epi32(
      sum, _mm256_madd_epi16(_mm256_shuffle_epi8(bytes, order), _mm256_set1_epi32(weights)));
}

/// One output pixel of two rows, before it is clipped.
__attribute__((target("avx2"))) inline __m256i sum_two_rows(const std::uint8_t* a,
                                                            const std::uint8_t* b,
                                                            const std::int32_t* digits,
                                                            int groups) {
  // Bytes 3k, 3k+1 and 3k+2 are a pixel; a pair of pixels becomes pairs of their channels.
  const __m256i first = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  const __m256i second = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
  __m256i high = _mm256_setzero_si256();
  __m256i low = _mm256_set1_epi32(kHalf);
  for (int g = 0; g < groups; ++g, digits += kGroup) {
    const std::ptrdiff_t offset = std::ptrdiff_t{3} * kGroup * g;
    const __m256i bytes = load_two_rows(a + offset, b + offset);
    high = add_pixels(high, bytes, first, digits[0]);
    high = add_pixels(high, bytes, second, digits[1]);
    low = add_pixels(low, bytes, first, digits[2]);
    low = add_pixels(low, bytes, second, digits[3]);
  }
  const __m256i sum = _mm256_add_epi32(low, _mm256_slli_epi32(high, kDigitBits16));
  return _mm256_srai_epi32(sum, kFractionBits);
}

__attribute__((target("avx2"))) void horizontal_block_avx2(const Axis& axis,
                                                           const std::int32_t* digits,
                                                           const RowBlock& block) {
  for (std::size_t o = 0; o < axis.outputs.size(); ++o) {
    const Taps& taps = axis.outputs[o];
    const std::ptrdiff_t offset = std::ptrdiff_t{3} * taps.first;
    const __m256i upper = sum_two_rows(block.from[0] + offset, block.from[1] + offset,
                                       digits + taps.weights, taps.groups());
    const __m256i lower = sum_two_rows(block.from[2] + offset, block.from[3] + offset,
                                       digits + taps.weights, taps.groups());
    // Saturating packs clip to 0..255; they work on halves: rows 0 and 2, rows 1 and 3.
    const __m256i words = _mm256_packs_epi32(upper, lower);
    const __m256i bytes = _mm256_packus_epi16(words, words);
    alignas(32) std::array<std::uint32_t, 8> pixels;
    _mm256_store_si256(reinterpret_cast<__m256i*>(pixels.data()), bytes);
    store_column(block, o, o + 1 == axis.outputs.size(),
                 {pixels[0], pixels[4], pixels[1], pixels[5]});
  }
}

Image horizontal_avx2(const Image& image, int first_row, int rows, const Axis& axis) {
  const std::vector<std::int32_t> digits = digits_of_16_bits(axis.weights);
  return for_each_block(image, first_row, rows, axis, [&](const RowBlock& block) {
    horizontal_block_avx2(axis, digits.data(), block);
  });
}

/// Sums of 16 columns of bytes, `stride` apart, times their weights, clipped to bytes.
__attribute__((target("avx2"))) inline __m128i sum_16_columns(const std::uint8_t* from,
                                                              std::size_t stride,
                                                              const std::int32_t* weights,
                                                              int count) {
  __m256i low = _mm256_set1_epi32(kHalf);
  __m256i high = low;
  for (int k = 0; k < count; ++k, from += stride) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m256i weight = _mm256_set1_epi32(weights[k]);
    low = _mm256_add_epi32(low, _mm256_mullo_epi32(_mm256_cvtepu8_epi32(bytes), weight));
    const __m128i upper = _mm_srli_si128(bytes, 8);
    high = _mm256_add_epi32(high, _mm256_mullo_epi32(_mm256_cvtepu8_epi32(upper), weight));
  }
  // Saturating packs clip to 0..255; they work on halves, whose quarters are then put in order.
  const __m256i words =
      _mm256_permute4x64_epi64(_mm256_packs_epi32(_mm256_srai_epi32(low, kFractionBits),
                                                  _mm256_srai_epi32(high, kFractionBits)),
                               0xD8);
  return _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

__attribute__((target("avx2"))) void vertical_row_avx2(const RowSum& row,
                                                       const std::int32_t* weights) {
  std::size_t x = 0;
  for (; x + 16 <= row.bytes; x += 16)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(row.to + x),
                     sum_16_columns(row.from + x, row.bytes, weights, row.taps.count));
  for (; x < row.bytes; ++x) row.to[x] = byte_sum(row.from + x, row.bytes, weights, row.taps.count);
}

Image vertical_avx2(const Image& image, int first_row, const Axis& axis) {
  return for_each_row(image, first_row, axis, [&](const RowSum& row) {
    vertical_row_avx2(row, axis.weights.data() + row.taps.weights);
  });
}

#define TTT_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

/// A weight is three digits of 8 bits; a group of weights is three numbers, of four low, four
/// middle and four high digits.
constexpr std::size_t kDigits8 = 3;

std::vector<std::uint32_t> digits_of_8_bits(const std::vector<std::int32_t>& weights) {
  std::vector<std::uint32_t> digits(weights.size() / kGroup * kDigits8);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::int32_t rest = weights[i];
    for (std::size_t d = 0; d < kDigits8; ++d) {
      const auto digit = static_cast<std::uint32_t>(take_digit(rest, 8)) & 0xFFU;
      digits[i / kGroup * kDigits8 + d] |= digit << (8 * (i % kGroup));
    }
  }
  return digits;
}

/// Sums of 16 columns, one for each digit of the weights.
struct DigitSums {
  __m512i low, middle, high;
};

TTT_VNNI inline DigitSums no_sums() {
  return {_mm512_set1_epi32(kHalf), _mm512_setzero_si512(), _mm512_setzero_si512()};
}

TTT_VNNI inline __m512i repeated(std::uint32_t digits) {
  return _mm512_set1_epi32(static_cast<std::int32_t>(digits));
}

/// Adds the products of four taps; a column's four bytes lie side by side.
TTT_VNNI inline void add_group(DigitSums& sums, __m512i bytes, const std::uint32_t* digits) {
  sums.low = _mm512_dpbusd_epi32(sums.low, bytes, repeated(digits[0]));
  sums.middle = _mm512_dpbusd_epi32(sums.middle, bytes, repeated(digits[1]));
  sums.high = _mm512_dpbusd_epi32(sums.high, bytes, repeated(digits[2]));
}

/// The whole sums as 16 numbers, before they are clipped.
TTT_VNNI inline __m512i total(const DigitSums& sums) {
  const __m512i upper =
      _mm512_add_epi32(_mm512_slli_epi32(sums.middle, 8), _mm512_slli_epi32(sums.high, 16));
  return _mm512_srai_epi32(_mm512_add_epi32(sums.low, upper), kFractionBits);
}

TTT_VNNI inline __m128i load_16(const std::uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

/// Four pixels of each row of a block, their channels side by side.
TTT_VNNI inline __m512i load_pixels(const RowBlock& block, std::ptrdiff_t offset) {
  const __m512i order =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, -1, -1, -1, -1));
  __m512i bytes = _mm512_castsi128_si512(load_16(block.from[0] + offset));
  bytes = _mm512_inserti32x4(bytes, load_16(block.from[1] + offset), 1);
  bytes = _mm512_inserti32x4(bytes, load_16(block.from[2] + offset), 2);
  bytes = _mm512_inserti32x4(bytes, load_16(block.from[3] + offset), 3);
  return _mm512_shuffle_epi8(bytes, order);
}

TTT_VNNI void horizontal_block_vnni(const Axis& axis, const std::uint32_t* digits,
                                    const RowBlock& block) {
  for (std::size_t o = 0; o < axis.outputs.size(); ++o) {
    const Taps& taps = axis.outputs[o];
    const std::uint32_t* weights = digits + taps.weights / kGroup * kDigits8;
    DigitSums sums = no_sums();
    for (int g = 0; g < taps.groups(); ++g, weights += kDigits8)
      add_group(sums, load_pixels(block, std::ptrdiff_t{3} * (taps.first + kGroup * g)), weights);
    const __m512i positive = _mm512_max_epi32(total(sums), _mm512_setzero_si512());
    alignas(16) std::array<std::uint32_t, kBlockRows> pixels;
    _mm_store_si128(reinterpret_cast<__m128i*>(pixels.data()), _mm512_cvtusepi32_epi8(positive));
    store_column(block, o, o + 1 == axis.outputs.size(), pixels);
  }
}

Image horizontal_vnni(const Image& image, int first_row, int rows, const Axis& axis) {
  const std::vector<std::uint32_t> digits = digits_of_8_bits(axis.weights);
  return for_each_block(image, first_row, rows, axis, [&](const RowBlock& block) {
    horizontal_block_vnni(axis, digits.data(), block);
  });
}

/// Up to 64 bytes of the row of a tap. A filled-up group repeats its last row; the weight is zero.
TTT_VNNI inline __m512i load_row(const RowSum& row, int tap, std::size_t x, __mmask64 mask) {
  const auto there = static_cast<std::size_t>(std::min(tap, row.taps.count - 1));
  return _mm512_maskz_loadu_epi8(mask, row.from + x + there * row.bytes);
}

/// Sums of up to 64 columns, which `mask` has a bit for, as bytes.
TTT_VNNI inline __m512i sum_64_columns(const RowSum& row, std::size_t x, __mmask64 mask,
                                       const std::uint32_t* digits) {
  std::array<DigitSums, 4> sums{no_sums(), no_sums(), no_sums(), no_sums()};
  for (int k = 0; k < row.taps.count; k += kGroup, digits += kDigits8) {
    const __m512i rows[kGroup] = {load_row(row, k, x, mask), load_row(row, k + 1, x, mask),
                                  load_row(row, k + 2, x, mask), load_row(row, k + 3, x, mask)};
    const __m512i left01 = _mm512_unpacklo_epi8(rows[0], rows[1]);
    const __m512i right01 = _mm512_unpackhi_epi8(rows[0], rows[1]);
    const __m512i left23 = _mm512_unpacklo_epi8(rows[2], rows[3]);
    const __m512i right23 = _mm512_unpackhi_epi8(rows[2], rows[3]);
    add_group(sums[0], _mm512_unpacklo_epi16(left01, left23), digits);
    add_group(sums[1], _mm512_unpackhi_epi16(left01, left23), digits);
    add_group(sums[2], _mm512_unpacklo_epi16(right01, right23), digits);
    add_group(sums[3], _mm512_unpackhi_epi16(right01, right23), digits);
  }
  // Packing undoes the order of unpacking and clips to 0..255.
  return _mm512_packus_epi16(_mm512_packs_epi32(total(sums[0]), total(sums[1])),
                             _mm512_packs_epi32(total(sums[2]), total(sums[3])));
}

TTT_VNNI void vertical_row_vnni(const RowSum& row, const std::uint32_t* digits) {
  constexpr std::size_t kColumns = 64;
  for (std::size_t x = 0; x < row.bytes; x += kColumns) {
    const std::size_t left = row.bytes - x;
    const __mmask64 mask = left >= kColumns ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
    _mm512_mask_storeu_epi8(row.to + x, mask, sum_64_columns(row, x, mask, digits));
  }
}

Image vertical_vnni(const Image& image, int first_row, const Axis& axis) {
  const std::vector<std::uint32_t> digits = digits_of_8_bits(axis.weights);
  return for_each_row(image, first_row, axis, [&](const RowSum& row) {
    vertical_row_vnni(row, digits.data() + row.taps.weights / kGroup * kDigits8);
  });
}

#undef TTT_VNNI

}  // namespace

std::vector<Passes> x86_passes() {
  std::vector<Passes> found;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vnni"))
    found.push_back({"avx512vnni", horizontal_vnni, vertical_vnni});
  if (__builtin_cpu_supports("avx2")) found.push_back({"avx2", horizontal_avx2, vertical_avx2});
  return found;
}
#else
std::vector<Passes> x86_passes() {
  return {};
}
#endif

}  // namespace ttt::resample
