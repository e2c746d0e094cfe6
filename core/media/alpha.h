// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"
#include "core/media/resample.h"

namespace ttt {

/// Colour times alpha / 255, rounded as Pillow rounds it; alpha stays. Nothing for opaque pictures.
void premultiply(AlphaImage& image);
/// The way back, in Pillow's arithmetic: min(255, 255 * colour / alpha) without rounding; where
/// alpha is 0 or 255 colour stays.
void unpremultiply(AlphaImage& image);

/// The picture over white, in Pillow's arithmetic.
Image over_white(AlphaImage image);

/// resize_window() of a picture with alpha, bit-exact with Pillow's `Image.resize` on RGBA: colour
/// is premultiplied before and divided after. A picture that has the size already is only cut.
AlphaImage resize_window(const AlphaImage& image, int width, int height, PixelRect window,
                         ResizeFilter filter);

/// Turns and mirrors colour and alpha; orientation as in EXIF.
AlphaImage apply_orientation(AlphaImage image, int orientation);

/// Alpha as a grey picture (opaque: white), for what works on pictures, and the way back.
Image alpha_as_grey(const AlphaImage& image);
std::vector<std::uint8_t> grey_as_alpha(const Image& grey);

}  // namespace ttt
