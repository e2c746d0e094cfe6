// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/resample.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ttt {
namespace {

constexpr int kFractionBits = 22;
constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);

double box_kernel(double x) {
  return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

double triangle_kernel(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

/// Keys' cubic with a = -1/2 (Catmull-Rom).
double cubic_kernel(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos_kernel(double x) {
  return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
}

struct Kernel {
  double (*function)(double);
  double support;
};

Kernel kernel_of(ResizeFilter filter) {
  switch (filter) {
    case ResizeFilter::box:
      return {box_kernel, 0.5};
    case ResizeFilter::bilinear:
      return {triangle_kernel, 1.0};
    case ResizeFilter::bicubic:
      return {cubic_kernel, 2.0};
    case ResizeFilter::lanczos3:
      return {lanczos_kernel, 3.0};
  }
  throw Error(ErrorKind::internal, "unknown resize filter");
}

/// The inputs that make one output sample.
struct Taps {
  int first = 0;
  int count = 0;
  std::size_t weights = 0;  ///< offset in Axis::weights
};

/// One side of a resize: the taps of the outputs [begin, begin + count).
struct Axis {
  std::vector<Taps> outputs;
  std::vector<std::int32_t> weights;  ///< 22 fractional bits
};

Axis make_axis(int in_size, int out_size, int begin, int count, const Kernel& kernel) {
  Axis axis;
  axis.outputs.reserve(static_cast<std::size_t>(count));
  const double scale = static_cast<double>(in_size) / out_size;
  const double filter_scale = std::max(scale, 1.0);
  const double support = kernel.support * filter_scale;
  const double inverse = 1.0 / filter_scale;
  std::vector<double> exact;
  for (int o = begin; o < begin + count; ++o) {
    const double centre = (o + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(centre - support + 0.5));
    const int last = std::min(in_size, static_cast<int>(centre + support + 0.5));
    exact.clear();
    double sum = 0.0;
    for (int x = first; x < last; ++x) {
      exact.push_back(kernel.function((x - centre + 0.5) * inverse));
      sum += exact.back();
    }
    axis.outputs.push_back({first, last - first, axis.weights.size()});
    for (double weight : exact) {
      if (sum != 0.0) weight /= sum;
      weight *= 1 << kFractionBits;
      axis.weights.push_back(static_cast<std::int32_t>(weight < 0 ? weight - 0.5 : weight + 0.5));
    }
  }
  return axis;
}

std::uint8_t clip8(std::int32_t value) {
  return static_cast<std::uint8_t>(std::clamp(value >> kFractionBits, 0, 255));
}

/// The horizontal pass works on four rows at once: column x of the block holds 16 bytes, the RGB of
/// each row and one byte of padding.
constexpr int kBlockRows = 4;
constexpr std::size_t kBlockColumn = 16;

void interleave_rows(const Image& image, int first_row, int rows, std::uint8_t* block) {
  for (int r = 0; r < kBlockRows; ++r) {
    const std::uint8_t* from = image.row(first_row + std::min(r, rows - 1));
    std::uint8_t* to = block + 4 * r;
    for (int x = 0; x < image.width; ++x, from += 3, to += kBlockColumn) {
      to[0] = from[0];
      to[1] = from[1];
      to[2] = from[2];
    }
  }
}

/// One output column of a block: 16 weighted sums, as 8 bits.
using ColumnSum = void (*)(const std::uint8_t* from, const std::int32_t* weights, int count,
                           std::uint8_t* to);
/// One output row: `size` weighted sums over rows that lie `size` bytes apart.
using RowSum = void (*)(const std::uint8_t* from, std::size_t size, const std::int32_t* weights,
                        int count, std::uint8_t* to);

void column_sum(const std::uint8_t* from, const std::int32_t* weights, int count,
                std::uint8_t* to) {
  std::array<std::int32_t, kBlockColumn> sums;
  sums.fill(kHalf);
  for (int k = 0; k < count; ++k, from += kBlockColumn)
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += from[i] * weights[k];
  for (std::size_t i = 0; i < sums.size(); ++i) to[i] = clip8(sums[i]);
}

std::uint8_t byte_sum(const std::uint8_t* from, std::size_t stride, const std::int32_t* weights,
                      int count) {
  std::int32_t sum = kHalf;
  for (int k = 0; k < count; ++k, from += stride) sum += *from * weights[k];
  return clip8(sum);
}

void row_sum(const std::uint8_t* from, std::size_t size, const std::int32_t* weights, int count,
             std::uint8_t* to) {
  for (std::size_t x = 0; x < size; ++x) to[x] = byte_sum(from + x, size, weights, count);
}

#if defined(__x86_64__)
/// Adds 16 bytes, `stride` apart, times their weights, and clips the sums to bytes.
__attribute__((target("avx2"))) inline __m128i weighted_16_bytes(const std::uint8_t* from,
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

__attribute__((target("avx2"))) void column_sum_avx2(const std::uint8_t* from,
                                                     const std::int32_t* weights, int count,
                                                     std::uint8_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   weighted_16_bytes(from, kBlockColumn, weights, count));
}

__attribute__((target("avx2"))) void row_sum_avx2(const std::uint8_t* from, std::size_t size,
                                                  const std::int32_t* weights, int count,
                                                  std::uint8_t* to) {
  std::size_t x = 0;
  for (; x + 16 <= size; x += 16)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + x),
                     weighted_16_bytes(from + x, size, weights, count));
  for (; x < size; ++x) to[x] = byte_sum(from + x, size, weights, count);
}

ColumnSum best_column_sum() {
  return __builtin_cpu_supports("avx2") ? column_sum_avx2 : column_sum;
}
RowSum best_row_sum() {
  return __builtin_cpu_supports("avx2") ? row_sum_avx2 : row_sum;
}
#else
ColumnSum best_column_sum() {
  return column_sum;
}
RowSum best_row_sum() {
  return row_sum;
}
#endif

void horizontal_block(const Axis& axis, const std::uint8_t* block, int rows, Image& out,
                      int out_row) {
  static const ColumnSum sum = best_column_sum();
  for (std::size_t o = 0; o < axis.outputs.size(); ++o) {
    const Taps& taps = axis.outputs[o];
    std::array<std::uint8_t, kBlockColumn> column;
    sum(block + static_cast<std::size_t>(taps.first) * kBlockColumn,
        axis.weights.data() + taps.weights, taps.count, column.data());
    for (int r = 0; r < rows; ++r) std::copy_n(&column[4 * r], 3, out.row(out_row + r) + o * 3);
  }
}

/// Rows [first_row, first_row + rows) of the picture, filtered along x.
Image horizontal_pass(const Image& image, int first_row, int rows, const Axis& axis) {
  const int width = static_cast<int>(axis.outputs.size());
  Image out{width, rows, {}};
  out.rgb.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(rows) * 3);
  std::vector<std::uint8_t> block(static_cast<std::size_t>(image.width) * kBlockColumn);
  for (int y = 0; y < rows; y += kBlockRows) {
    const int count = std::min(kBlockRows, rows - y);
    interleave_rows(image, first_row + y, count, block.data());
    horizontal_block(axis, block.data(), count, out, y);
  }
  return out;
}

/// `image` holds the input rows from first_row on.
Image vertical_pass(const Image& image, int first_row, const Axis& axis) {
  static const RowSum sum = best_row_sum();
  Image out{image.width, static_cast<int>(axis.outputs.size()), {}};
  const std::size_t stride = static_cast<std::size_t>(image.width) * 3;
  out.rgb.resize(stride * axis.outputs.size());
  for (std::size_t o = 0; o < axis.outputs.size(); ++o) {
    const Taps& taps = axis.outputs[o];
    sum(image.row(taps.first - first_row), stride, axis.weights.data() + taps.weights, taps.count,
        out.rgb.data() + o * stride);
  }
  return out;
}

}  // namespace

Image resize_window(const Image& image, int width, int height, PixelRect window,
                    ResizeFilter filter) {
  constexpr int kMaxSide = 1 << 30;
  TTT_CHECK(image.width > 0 && image.height > 0, internal, "resize of an empty picture");
  TTT_CHECK(width > 0 && height > 0 && width <= kMaxSide && height <= kMaxSide, input,
            fmt::format("can't resize a picture to {}x{}", width, height));
  TTT_CHECK(window.left >= 0 && window.top >= 0 && window.width >= 0 && window.height >= 0 &&
                window.width <= width - window.left && window.height <= height - window.top,
            internal, "resize window outside the picture");
  if (window.width == 0 || window.height == 0) return {window.width, window.height, {}};
  const Kernel kernel = kernel_of(filter);

  PixelRect needed = window;  // in input pixels along a side that is filtered
  Axis vertical;
  if (height != image.height) {
    vertical = make_axis(image.height, height, window.top, window.height, kernel);
    needed.top = vertical.outputs.front().first;
    needed.height = vertical.outputs.back().first + vertical.outputs.back().count - needed.top;
  }
  Image rows;
  if (width != image.width) {
    const Axis horizontal = make_axis(image.width, width, window.left, window.width, kernel);
    rows = horizontal_pass(image, needed.top, needed.height, horizontal);
  } else {
    rows = crop(image, needed);
  }
  return height == image.height ? rows : vertical_pass(rows, needed.top, vertical);
}

Image resize(const Image& image, int width, int height, ResizeFilter filter) {
  constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;
  TTT_CHECK(static_cast<std::int64_t>(width) * height <= kMaxPixels, input,
            fmt::format("can't resize a picture of {}x{} to {}x{}", image.width, image.height,
                        width, height));
  return resize_window(image, width, height, {0, 0, width, height}, filter);
}

}  // namespace ttt
