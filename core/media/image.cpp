// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/image.h"

#include "core/error.h"

#include <algorithm>

namespace ttt {

Image crop(const Image& image, PixelRect rect) {
  TTT_CHECK(rect.left >= 0 && rect.top >= 0 && rect.width >= 0 && rect.height >= 0 &&
                rect.width <= image.width - rect.left && rect.height <= image.height - rect.top,
            internal, "crop rectangle outside the picture");
  Image out{rect.width, rect.height, {}};
  out.rgb.reserve(static_cast<std::size_t>(rect.width) * static_cast<std::size_t>(rect.height) * 3);
  for (int y = 0; y < rect.height; ++y) {
    const std::uint8_t* from = image.row(rect.top + y) + static_cast<std::ptrdiff_t>(rect.left) * 3;
    out.rgb.insert(out.rgb.end(), from, from + static_cast<std::ptrdiff_t>(rect.width) * 3);
  }
  return out;
}

}  // namespace ttt
