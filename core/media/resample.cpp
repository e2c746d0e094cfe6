// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/resample.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

// The wide integer loops gain from AVX2, which the portable baseline doesn't have.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define TTT_WIDE_CLONES __attribute__((target_clones("arch=skylake-avx512", "avx2", "default")))
#else
#define TTT_WIDE_CLONES
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

typedef std::int32_t Int16Lanes __attribute__((vector_size(64)));
typedef std::uint8_t Byte16Lanes __attribute__((vector_size(16)));

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

TTT_WIDE_CLONES
void horizontal_block(const Axis& axis, const std::uint8_t* block, int rows, Image& out,
                      int out_row) {
  const std::int32_t* all_weights = axis.weights.data();
  for (std::size_t o = 0; o < axis.outputs.size(); ++o) {
    const Taps taps = axis.outputs[o];
    const std::int32_t* weights = all_weights + taps.weights;
    const std::uint8_t* from = block + static_cast<std::size_t>(taps.first) * kBlockColumn;
    Int16Lanes sum = Int16Lanes{} + kHalf;
    for (int k = 0; k < taps.count; ++k, from += kBlockColumn) {
      Byte16Lanes bytes;
      std::memcpy(&bytes, from, sizeof bytes);
      sum += __builtin_convertvector(bytes, Int16Lanes) * weights[k];
    }
    for (int r = 0; r < rows; ++r) {
      std::uint8_t* to = out.row(out_row + r) + o * 3;
      for (int c = 0; c < 3; ++c) to[c] = clip8(sum[4 * r + c]);
    }
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

TTT_WIDE_CLONES
void vertical_row(const std::uint8_t* from, std::size_t stride, const std::int32_t* weights,
                  int count, std::uint8_t* to) {
  std::size_t x = 0;
  for (; x + 16 <= stride; x += 16) {
    Int16Lanes sum = Int16Lanes{} + kHalf;
    for (int k = 0; k < count; ++k) {
      Byte16Lanes bytes;
      std::memcpy(&bytes, from + static_cast<std::size_t>(k) * stride + x, sizeof bytes);
      sum += __builtin_convertvector(bytes, Int16Lanes) * weights[k];
    }
    sum >>= kFractionBits;
    sum = sum < 0 ? Int16Lanes{} : sum;
    sum = sum > 255 ? Int16Lanes{} + 255 : sum;
    const Byte16Lanes bytes = __builtin_convertvector(sum, Byte16Lanes);
    std::memcpy(to + x, &bytes, sizeof bytes);
  }
  for (; x < stride; ++x) {
    std::int32_t sum = kHalf;
    for (int k = 0; k < count; ++k)
      sum += from[static_cast<std::size_t>(k) * stride + x] * weights[k];
    to[x] = clip8(sum);
  }
}

/// `image` holds the input rows from first_row on.
Image vertical_pass(const Image& image, int first_row, const Axis& axis) {
  Image out{image.width, static_cast<int>(axis.outputs.size()), {}};
  const std::size_t stride = static_cast<std::size_t>(image.width) * 3;
  out.rgb.resize(stride * axis.outputs.size());
  for (std::size_t o = 0; o < axis.outputs.size(); ++o) {
    const Taps& taps = axis.outputs[o];
    vertical_row(image.row(taps.first - first_row), stride, axis.weights.data() + taps.weights,
                 taps.count, out.rgb.data() + o * stride);
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
