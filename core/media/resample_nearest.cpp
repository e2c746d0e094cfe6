// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/media/resample.h"

#include <algorithm>

namespace ttt {
namespace {

/// The input position of each output position in [begin, begin + count). The steps are summed up
/// one by one, as Pillow does it.
std::vector<int> sources(int in_size, int out_size, int begin, int count) {
  const double step = static_cast<double>(in_size) / out_size;
  double position = step * 0.5;
  std::vector<int> out;
  out.reserve(static_cast<std::size_t>(count));
  for (int o = 0; o < begin + count; ++o, position += step)
    if (o >= begin) out.push_back(std::min(static_cast<int>(position), in_size - 1));
  return out;
}

}  // namespace

Image resize_window_nearest(const Image& image, int width, int height, PixelRect window) {
  TTT_CHECK(image.width > 0 && image.height > 0 && width > 0 && height > 0, internal,
            "resize of or to an empty picture");
  TTT_CHECK(window.left >= 0 && window.top >= 0 && window.width >= 0 && window.height >= 0 &&
                window.width <= width - window.left && window.height <= height - window.top,
            internal, "resize window outside the picture");
  const std::vector<int> columns = sources(image.width, width, window.left, window.width);
  const std::vector<int> rows = sources(image.height, height, window.top, window.height);
  Image out{window.width, window.height, {}};
  out.rgb.reserve(static_cast<std::size_t>(window.width) * static_cast<std::size_t>(window.height) *
                  3);
  for (const int y : rows)
    for (const int x : columns) {
      const std::uint8_t* from = image.row(y) + std::ptrdiff_t{3} * x;
      out.rgb.insert(out.rgb.end(), from, from + 3);
    }
  return out;
}

}  // namespace ttt
