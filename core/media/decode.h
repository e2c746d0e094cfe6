// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ttt {

/// How the content of a picture file becomes RGB.
enum class DecodeMode {
  /// What a person sees: EXIF orientation applied, alpha over white, 16-bit samples scaled to 8;
  /// a damaged or cut file is an error.
  photo,
  /// What the official evaluation sees: Pillow 11.3 `Image.open(f).convert("RGB")` with
  /// LOAD_TRUNCATED_IMAGES. No EXIF rotation (TIFF excepted, as there), alpha dropped, 16-bit grey
  /// clipped to 255, missing JPEG blocks grey, other missing rows as Pillow leaves them.
  official,
};

/// What a pixel of a picture file holds. Alpha may come beside it: from a transparent colour.
enum class PixelKind { grey, grey_alpha, rgb, rgba, palette, cmyk };

/// A picture as its file holds it: nothing is composited or turned. 16-bit samples are scaled to 8,
/// colours other than RGB are converted.
struct StoredImage {
  AlphaImage picture;
  int orientation = 1;  ///< EXIF, 1 to 8
  PixelKind kind = PixelKind::rgb;
};

struct PictureSize {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// Bounds that are checked before memory is allocated.
struct DecodeLimits {
  std::int64_t max_pixels = 178'956'970;  ///< where Pillow speaks of a decompression bomb
  std::int64_t max_side = 1'000'000;
};

/// Kinds of file, told apart by content alone.
enum class ImageFormat {
  jpeg,
  png,
  bmp,
  gif,
  webp,
  tiff,
  unsupported_picture,  ///< a picture (or video, document) of a kind that we don't read
  not_a_picture,        ///< empty, text, HTML, an archive, …
};

struct SniffedFormat {
  ImageFormat format = ImageFormat::not_a_picture;
  std::string_view name;  ///< "JPEG", "HEIC picture", "HTML page", …
  std::string_view hint;  ///< what the user can do when we don't read it; else empty
};

/// Looks at the first bytes of a file; never at its name. Never fails.
SniffedFormat sniff_image_format(std::span<const std::uint8_t> bytes);

/// Decodes a picture file that lies in memory; `name` is used in messages only. Thread-safe.
/// Throws Error(input) for damaged files, absurd sizes and what is not a picture,
/// Error(unsupported) for kinds of picture that we don't read.
Image decode_image(std::span<const std::uint8_t> bytes, DecodeMode mode, std::string_view name,
                   DecodeLimits limits = {});

/// The same in photo mode, but with alpha kept apart and the orientation told instead of applied.
StoredImage decode_stored_image(std::span<const std::uint8_t> bytes, std::string_view name,
                                DecodeLimits limits = {});

/// The stored size of a picture: from the header of a PNG or JPEG (the first megabyte of the file
/// is nearly always enough), else by decoding. Errors as decode_image().
PictureSize picture_size(std::span<const std::uint8_t> bytes, std::string_view name);

/// Reads and decodes a picture file. Throws as decode_image does, and Error(input) when the file
/// can't be read.
Image read_image(const std::string& path, DecodeMode mode = DecodeMode::photo,
                 DecodeLimits limits = {});

}  // namespace ttt
