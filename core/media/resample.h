// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"

namespace ttt {

enum class ResizeFilter { box, bilinear, bicubic, lanczos3 };

/// Antialiased separable resize, bit-exact with Pillow up to 11.3 (`Image.resize` on 8-bit RGB):
/// weights of 22 fractional bits, horizontal pass rounded to 8 bits, then the vertical pass; a side
/// that keeps its length is not filtered. Throws Error(input) for a target over 2^28 pixels.
Image resize(const Image& image, int width, int height, ResizeFilter filter);

/// The same pixels as crop(resize(image, width, height, filter), window), at the cost of the window
/// alone; width and height are bounded by 2^30 each only.
Image resize_window(const Image& image, int width, int height, PixelRect window,
                    ResizeFilter filter);

/// The window of a picture resized without a filter, as Pillow resizes pictures with a palette.
Image resize_window_nearest(const Image& image, int width, int height, PixelRect window);

}  // namespace ttt
