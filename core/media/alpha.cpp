// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/alpha.h"

#include "core/media/codec.h"
#include "core/media/orientation.h"

#include <algorithm>

namespace ttt {

void premultiply(AlphaImage& image) {
  for (std::size_t i = 0; i < image.alpha.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      std::uint8_t& value = image.colour.rgb[3 * i + c];
      value = static_cast<std::uint8_t>(codec::multiply_255(value, image.alpha[i]));
    }
}

void unpremultiply(AlphaImage& image) {
  for (std::size_t i = 0; i < image.alpha.size(); ++i) {
    const std::uint32_t alpha = image.alpha[i];
    if (alpha == 0 || alpha == 255) continue;
    for (std::size_t c = 0; c < 3; ++c) {
      std::uint8_t& value = image.colour.rgb[3 * i + c];
      value = static_cast<std::uint8_t>(std::min(255U, 255U * value / alpha));
    }
  }
}

Image over_white(AlphaImage image) {
  for (std::size_t i = 0; i < image.alpha.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      std::uint8_t& value = image.colour.rgb[3 * i + c];
      value = codec::over_white(value, image.alpha[i]);
    }
  return std::move(image.colour);
}

Image alpha_as_grey(const AlphaImage& image) {
  Image grey{image.colour.width, image.colour.height, {}};
  grey.rgb.assign(image.colour.rgb.size(), 255);
  for (std::size_t i = 0; i < image.alpha.size(); ++i)
    std::fill_n(grey.rgb.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, image.alpha[i]);
  return grey;
}

std::vector<std::uint8_t> grey_as_alpha(const Image& grey) {
  std::vector<std::uint8_t> alpha(grey.rgb.size() / 3);
  for (std::size_t i = 0; i < alpha.size(); ++i) alpha[i] = grey.rgb[3 * i];
  return alpha;
}

AlphaImage resize_window(const AlphaImage& image, int width, int height, PixelRect window,
                         ResizeFilter filter) {
  if (image.alpha.empty()) return {resize_window(image.colour, width, height, window, filter), {}};
  const Image grey = alpha_as_grey(image);
  AlphaImage out;
  out.alpha = grey_as_alpha(resize_window(grey, width, height, window, filter));
  if (width == image.colour.width && height == image.colour.height) {
    out.colour = crop(image.colour, window);
    return out;
  }
  AlphaImage multiplied = image;
  premultiply(multiplied);
  out.colour = resize_window(multiplied.colour, width, height, window, filter);
  unpremultiply(out);
  return out;
}

AlphaImage apply_orientation(AlphaImage image, int orientation) {
  if (!image.alpha.empty())
    image.alpha = grey_as_alpha(apply_orientation(alpha_as_grey(image), orientation));
  image.colour = apply_orientation(std::move(image.colour), orientation);
  return image;
}

}  // namespace ttt
