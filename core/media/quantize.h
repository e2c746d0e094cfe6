// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ttt {

/// A picture of at most 256 colours.
struct IndexedImage {
  std::vector<std::array<std::uint8_t, 3>> palette;  ///< 1 to 256 colours
  std::vector<std::uint8_t> indices;                 ///< one a pixel, rows from the top
};

/// Reduces the colours: none are lost when there are at most 256. Otherwise the palette comes from
/// a median cut that splits the box of largest squared error, and the indices from the nearest
/// colour after ordered dithering (8x8), which doesn't crawl in animations.
IndexedImage quantize(const Image& image);

}  // namespace ttt
