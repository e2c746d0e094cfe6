// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ttt {

/// An 8-bit RGB picture, rows from top to bottom: rgb[(y * width + x) * 3 + channel].
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;

  const std::uint8_t* row(int y) const {
    return rgb.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width) * 3;
  }
  std::uint8_t* row(int y) {
    return rgb.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width) * 3;
  }
};

/// An 8-bit picture with straight (not premultiplied) alpha: alpha[y * width + x]. An empty plane
/// means opaque.
struct AlphaImage {
  Image colour;
  std::vector<std::uint8_t> alpha;
};

/// A rectangle of pixels.
struct PixelRect {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
};

/// Copies a rectangle that lies inside the picture. Throws Error(internal) otherwise.
Image crop(const Image& image, PixelRect rect);

}  // namespace ttt
