// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/codec.h"

#include <optional>

namespace ttt {
namespace {

std::optional<PictureSize> png_size(std::span<const std::uint8_t> bytes) {
  const codec::ByteReader file(bytes, true);
  constexpr std::uint32_t kHeader = 0x49484452;  // "IHDR"
  if (file.u32(12) != kHeader) return {};
  const PictureSize size{file.u32(16), file.u32(20)};
  return file.ok() ? std::optional(size) : std::nullopt;
}

/// Walks over the segments to the frame header.
std::optional<PictureSize> jpeg_size(std::span<const std::uint8_t> bytes) {
  const codec::ByteReader file(bytes, true);
  for (std::size_t at = 2; file.ok();) {
    if (file.u8(at) != 0xFF) return {};
    const std::uint32_t marker = file.u8(at + 1);
    if (marker == 0xFF) {  // a fill byte
      ++at;
      continue;
    }
    const bool tables = marker == 0xC4 || marker == 0xC8 || marker == 0xCC;
    if (marker >= 0xC0 && marker <= 0xCF && !tables) {
      const PictureSize size{file.u16(at + 7), file.u16(at + 5)};
      return file.ok() && size.height > 0 ? std::optional(size) : std::nullopt;
    }
    const bool alone = marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
    if (marker == 0xD9 || marker == 0xDA) return {};
    at += alone ? 2 : 2 + std::size_t{file.u16(at + 2)};
  }
  return {};
}

}  // namespace

PictureSize picture_size(std::span<const std::uint8_t> bytes, std::string_view name) {
  const ImageFormat format = sniff_image_format(bytes).format;
  std::optional<PictureSize> size;
  if (format == ImageFormat::png) size = png_size(bytes);
  if (format == ImageFormat::jpeg) size = jpeg_size(bytes);
  if (size.has_value() && size->width > 0 && size->height > 0) return *size;
  const Image image = decode_stored_image(bytes, name).picture.colour;
  return {image.width, image.height};
}

}  // namespace ttt
