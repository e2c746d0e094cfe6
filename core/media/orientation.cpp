// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/orientation.h"

#include "core/media/codec.h"

#include <array>
#include <string_view>

namespace ttt {
namespace {

/// How an upright picture comes from the stored one: 2 mirrors x, 4 mirrors y, 3 both; 5 to 8 also
/// swap the axes.
struct Turn {
  bool transpose, flip_x, flip_y;  // the flips are of the stored picture

  explicit Turn(int orientation)
      : transpose(orientation >= 5 && orientation <= 8),
        flip_x(orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8),
        flip_y(orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) {}
};

void mirror(PixelRect& rect, const Turn& turn, int width, int height) {
  if (turn.flip_x) rect.left = width - rect.left - rect.width;
  if (turn.flip_y) rect.top = height - rect.top - rect.height;
}

PixelRect transposed(const PixelRect& rect) {
  return {rect.top, rect.left, rect.height, rect.width};
}

}  // namespace

int exif_orientation(std::span<const std::uint8_t> exif) {
  constexpr std::array<std::uint8_t, 6> kPrefix{'E', 'x', 'i', 'f', 0, 0};
  if (exif.size() >= kPrefix.size() && std::equal(kPrefix.begin(), kPrefix.end(), exif.begin()))
    exif = exif.subspan(kPrefix.size());
  if (exif.size() < 8) return 1;
  const bool big_endian = exif[0] == 'M';
  const codec::ByteReader reader(exif, big_endian);
  if (exif[0] != exif[1] || (exif[0] != 'M' && exif[0] != 'I') || reader.u16(2) != 42) return 1;

  constexpr std::uint32_t kOrientationTag = 0x0112;
  constexpr std::uint32_t kShort = 3;
  constexpr std::uint32_t kLong = 4;
  const std::size_t directory = reader.u32(4);
  const std::uint32_t entries = reader.u16(directory);
  for (std::uint32_t i = 0; i < entries && reader.ok(); ++i) {
    const std::size_t entry = directory + 2 + std::size_t{12} * i;
    if (reader.u16(entry) != kOrientationTag) continue;
    const std::uint32_t type = reader.u16(entry + 2);
    const std::uint32_t value = type == kShort  ? reader.u16(entry + 8)
                                : type == kLong ? reader.u32(entry + 8)
                                                : 1;
    return reader.ok() && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

PixelRect rect_before_orientation(PixelRect upright, int orientation, int width, int height) {
  const Turn turn(orientation);
  PixelRect rect = turn.transpose ? transposed(upright) : upright;
  mirror(rect, turn, width, height);
  return rect;
}

PixelRect rect_after_orientation(PixelRect stored, int orientation, int width, int height) {
  const Turn turn(orientation);
  mirror(stored, turn, width, height);
  return turn.transpose ? transposed(stored) : stored;
}

Image apply_orientation(Image image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  const auto [transpose, flip_x, flip_y] = Turn(orientation);
  Image out{transpose ? image.height : image.width, transpose ? image.width : image.height, {}};
  out.rgb.resize(image.rgb.size());
  std::uint8_t* to = out.rgb.data();
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x, to += 3) {
      int from_x = transpose ? y : x;
      int from_y = transpose ? x : y;
      if (flip_x) from_x = image.width - 1 - from_x;
      if (flip_y) from_y = image.height - 1 - from_y;
      const std::uint8_t* from = image.row(from_y) + static_cast<std::ptrdiff_t>(from_x) * 3;
      to[0] = from[0];
      to[1] = from[1];
      to[2] = from[2];
    }
  }
  return out;
}

}  // namespace ttt
