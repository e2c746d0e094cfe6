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

/// Reads and decodes a picture file. Throws as decode_image does, and Error(input) when the file
/// can't be read.
Image read_image(const std::string& path, DecodeMode mode = DecodeMode::photo,
                 DecodeLimits limits = {});

}  // namespace ttt
