// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"

#include <cstdint>
#include <span>

namespace ttt {

/// The orientation tag (1 to 8) of an EXIF block, with or without its "Exif\0\0" prefix; 1 when
/// there is none or the block is damaged.
int exif_orientation(std::span<const std::uint8_t> exif);

/// Where a rectangle of the upright picture lies in the stored one of width x height, and back.
PixelRect rect_before_orientation(PixelRect upright, int orientation, int width, int height);
PixelRect rect_after_orientation(PixelRect stored, int orientation, int width, int height);

/// Turns and mirrors a stored picture so that it stands upright. Orientation as in EXIF; 1 and
/// values outside 2 to 8 change nothing.
Image apply_orientation(Image image, int orientation);

}  // namespace ttt
