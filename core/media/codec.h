// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/part.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// What the readers of single formats share. Private to core/media.
namespace ttt::codec {

/// Asks for a part of a picture. A reader that can leave out the rest says so.
struct PartRequest {
  const NeededPixels& needed;
  bool served = false;   ///< else the whole picture comes
  PixelRect place = {};  ///< of the part in the upright picture
  int whole_width = 0;
  int whole_height = 0;
};

struct Source {
  std::span<const std::uint8_t> bytes;
  DecodeMode mode = DecodeMode::photo;
  std::string_view name;
  DecodeLimits limits;
  StoredImage* stored = nullptr;  ///< takes alpha, orientation and kind instead of their use
  PartRequest* part = nullptr;

  bool official() const { return mode == DecodeMode::official; }
};

Image decode_jpeg(const Source& source);
Image decode_png(const Source& source);
Image decode_bmp(const Source& source);
Image decode_gif(const Source& source);
Image decode_webp(const Source& source);
Image decode_tiff(const Source& source);

/// Throws Error(input): the file is damaged; `detail` may come from a library or the file.
[[noreturn]] void fail_damaged(const Source& source, std::string_view format,
                               std::string_view detail);
/// Throws Error(unsupported): a well-formed file of a rare kind, such as "a TIFF of 12-bit
/// samples".
[[noreturn]] void fail_unsupported(const Source& source, std::string_view kind);
/// Throws Error(input) when a header's size is empty or over the limits.
void check_size(const Source& source, std::string_view format, std::int64_t width,
                std::int64_t height);
/// In photo mode, throws Error(input) when no intact file of that length can hold so many pixels.
/// Called before allocation, so that a tiny file can't ask for gigabytes.
void check_plausible(const Source& source, std::string_view format, std::int64_t width,
                     std::int64_t height, std::int64_t max_pixels_per_byte);
/// A black picture.
Image make_image(std::int64_t width, std::int64_t height);
/// For decode_stored_image(), an opaque alpha plane to fill in; else null.
std::uint8_t* make_alpha(const Source& source, const Image& image);
/// Turns the picture upright, or for decode_stored_image() only notes how that is done.
Image finish_orientation(const Source& source, Image image, int orientation);
void note_kind(const Source& source, PixelKind kind);

/// The bytes of a file behind bounds checks; reads past the end give 0 and set `overrun`.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes, bool big_endian = false)
      : bytes_(bytes), big_endian_(big_endian) {}

  std::uint32_t u8(std::size_t at) const { return at < bytes_.size() ? bytes_[at] : overrun(); }
  std::uint32_t u16(std::size_t at) const {
    return big_endian_ ? u8(at) << 8 | u8(at + 1) : u8(at) | u8(at + 1) << 8;
  }
  std::uint32_t u32(std::size_t at) const {
    return big_endian_ ? u16(at) << 16 | u16(at + 2) : u16(at) | u16(at + 2) << 16;
  }
  bool ok() const { return ok_; }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::uint32_t overrun() const {
    ok_ = false;
    return 0;
  }

  std::span<const std::uint8_t> bytes_;
  bool big_endian_;
  mutable bool ok_ = true;
};

/// value * 255 / 65535, rounded.
inline std::uint8_t scale_16_to_8(std::uint32_t value) {
  return static_cast<std::uint8_t>((value * 255 + 32767) / 65535);
}

/// a * b / 255, rounded as Pillow rounds it.
inline std::uint32_t multiply_255(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t t = a * b + 128;
  return ((t >> 8) + t) >> 8;
}

/// Straight alpha over white.
inline std::uint8_t over_white(std::uint32_t value, std::uint32_t alpha) {
  const std::uint32_t t = 255 * (255 - alpha) + value * alpha + 128;
  return static_cast<std::uint8_t>(((t >> 8) + t) >> 8);
}

/// Ink amounts (255 = full) to RGB without colour management, in Pillow's arithmetic.
inline void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb) {
  const std::uint32_t paper = 255U - cmyk[3];
  for (int c = 0; c < 3; ++c)
    rgb[c] = static_cast<std::uint8_t>(paper - multiply_255(cmyk[c], paper));
}

}  // namespace ttt::codec
