// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"
#include "core/media/resample.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// The two passes of a resize, for each kind of processor. Private to core/media.
namespace ttt::resample {

constexpr int kFractionBits = 22;
constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);
/// Weights come in groups of so many taps, the last one filled up with zeros.
constexpr int kGroup = 4;
/// The horizontal pass works on so many rows at once.
constexpr int kBlockRows = 4;

/// The inputs that make one output sample.
struct Taps {
  int first = 0;
  int count = 0;
  std::size_t weights = 0;  ///< offset in Axis::weights, a multiple of kGroup

  int groups() const { return (count + kGroup - 1) / kGroup; }
};

/// One side of a resize: the taps of the outputs [begin, begin + count).
struct Axis {
  std::vector<Taps> outputs;
  std::vector<std::int32_t> weights;  ///< 22 fractional bits
};

Axis make_axis(int in_size, int out_size, int begin, int count, ResizeFilter filter);

struct Passes {
  std::string_view name;
  /// Rows [first_row, first_row + rows) of a picture, filtered along x.
  Image (*horizontal)(const Image& image, int first_row, int rows, const Axis& axis);
  /// Filters along y; `image` holds the input rows from first_row on.
  Image (*vertical)(const Image& image, int first_row, const Axis& axis);
};

/// What this processor can run, the fastest first. All give the same pixels.
std::span<const Passes> supported_passes();

/// Of resample_x86.cpp: a part of what supported_passes() gives.
std::vector<Passes> x86_passes();

/// A weighted sum of bytes that lie `stride` apart.
inline std::uint8_t byte_sum(const std::uint8_t* from, std::size_t stride,
                             const std::int32_t* weights, int count) {
  std::int32_t sum = kHalf;
  for (int k = 0; k < count; ++k, from += stride) sum += *from * weights[k];
  return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

/// Where the rows of a block come from, and where what is made of them goes.
struct RowBlock {
  std::array<const std::uint8_t*, kBlockRows> from;
  std::array<std::uint8_t*, kBlockRows> to;
};

/// Calls `block` with four rows at a time. Short of four, the last row comes again and leads to a
/// row that is dropped. From any pixel of a row `block` may read kOverread bytes.
template <typename Block>
Image for_each_block(const Image& image, int first_row, int rows, const Axis& axis,
                     const Block& block) {
  constexpr std::size_t kOverread = std::size_t{3} * 2 * kGroup;
  const int width = static_cast<int>(axis.outputs.size());
  const std::size_t row_bytes = std::size_t{3} * static_cast<std::size_t>(image.width);
  Image out{width, rows, {}};
  out.rgb.resize(std::size_t{3} * static_cast<std::size_t>(width) * static_cast<std::size_t>(rows));
  std::vector<std::uint8_t> last_rows(kBlockRows * row_bytes + kOverread);
  std::vector<std::uint8_t> dropped(std::size_t{3} * static_cast<std::size_t>(width));
  const std::uint8_t* end = image.rgb.data() + image.rgb.size();
  for (int y = 0; y < rows; y += kBlockRows) {
    RowBlock at{};
    for (int r = 0; r < kBlockRows; ++r) {
      const std::uint8_t* from = image.row(first_row + std::min(y + r, rows - 1));
      at.from[r] = from;
      if (static_cast<std::size_t>(end - from) < row_bytes + kOverread) {
        std::uint8_t* copy = last_rows.data() + static_cast<std::size_t>(r) * row_bytes;
        std::copy_n(from, row_bytes, copy);
        at.from[r] = copy;
      }
      at.to[r] = y + r < rows ? out.row(y + r) : dropped.data();
    }
    block(at);
  }
  return out;
}

/// An output row of the vertical pass: where its first input row begins, and what becomes of it.
struct RowSum {
  const std::uint8_t* from;
  std::size_t bytes;  ///< of a row; the next row follows at once
  Taps taps;
  std::uint8_t* to;
};

/// Calls `row` for every output row.
template <typename Row>
Image for_each_row(const Image& image, int first_row, const Axis& axis, const Row& row) {
  Image out{image.width, static_cast<int>(axis.outputs.size()), {}};
  const std::size_t bytes = std::size_t{3} * static_cast<std::size_t>(image.width);
  out.rgb.resize(bytes * axis.outputs.size());
  std::uint8_t* to = out.rgb.data();
  for (const Taps& taps : axis.outputs) {
    row(RowSum{image.row(taps.first - first_row), bytes, taps, to});
    to += bytes;
  }
  return out;
}

}  // namespace ttt::resample
