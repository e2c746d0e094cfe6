// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/resample_passes.h"

namespace ttt::resample {
namespace {

Image horizontal(const Image& image, int first_row, int rows, const Axis& axis) {
  return for_each_block(image, first_row, rows, axis, [&](const RowBlock& block) {
    for (int r = 0; r < kBlockRows; ++r) {
      std::uint8_t* to = block.to[r];
      for (const Taps& taps : axis.outputs)
        for (int c = 0; c < 3; ++c)
          *to++ = byte_sum(block.from[r] + std::ptrdiff_t{3} * taps.first + c, 3,
                           axis.weights.data() + taps.weights, taps.count);
    }
  });
}

Image vertical(const Image& image, int first_row, const Axis& axis) {
  return for_each_row(image, first_row, axis, [&](const RowSum& row) {
    for (std::size_t x = 0; x < row.bytes; ++x)
      row.to[x] =
          byte_sum(row.from + x, row.bytes, axis.weights.data() + row.taps.weights, row.taps.count);
  });
}

}  // namespace

std::span<const Passes> supported_passes() {
  static const std::vector<Passes> passes = [] {
    std::vector<Passes> found = x86_passes();
    found.push_back({"portable", horizontal, vertical});
    return found;
  }();
  return passes;
}

}  // namespace ttt::resample
