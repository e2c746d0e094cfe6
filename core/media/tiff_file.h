// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/codec.h"

#include <string>
#include <tiffio.h>

namespace ttt::codec {

/// A TIFF file in memory, opened by libtiff. Its messages are kept instead of printed.
class TiffFile {
 public:
  /// Throws Error(input) when the first directory can't be read.
  explicit TiffFile(const Source& source);
  ~TiffFile();
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  TIFF* get() const { return tiff_; }
  /// The value of a tag that has a default, or 0.
  template <typename T = std::uint16_t>
  T field(std::uint32_t tag) const {
    T value{};
    TIFFGetFieldDefaulted(tiff_, tag, &value);
    return value;
  }
  bool has(std::uint32_t tag) const;

  /// The first error, or else warning, since the last call of clear_messages().
  const std::string& message() const { return error_.empty() ? warning_ : error_; }
  void clear_messages();

 private:
  static int keep(std::string& kept, const char* format, va_list arguments);

  std::span<const std::uint8_t> bytes_;
  std::uint64_t position_ = 0;
  std::string error_;
  std::string warning_;
  TIFF* tiff_ = nullptr;

  friend struct TiffCallbacks;
};

/// What the first picture of a file looks like.
struct TiffLayout {
  std::uint32_t width = 0, height = 0;
  std::uint16_t bits = 1;     ///< per sample
  std::uint16_t samples = 1;  ///< per pixel
  std::uint16_t photometric = 0;
  std::uint16_t compression = 1;
  std::uint16_t extra = 0;        ///< meaning of the first sample after the colours
  std::uint16_t extra_count = 0;  ///< samples after the colours
  std::uint16_t fill_order = 1;
  bool separate_planes = false;
  bool big_endian = false;

  bool raw() const { return compression == COMPRESSION_NONE; }
  bool palette() const { return photometric == PHOTOMETRIC_PALETTE; }
  /// Samples that carry colour.
  std::uint16_t colours() const { return static_cast<std::uint16_t>(samples - extra_count); }
};

/// Reads the tags and throws Error(unsupported), naming the kind, for what we don't decode; in
/// official mode also for what Pillow doesn't, or decodes to something else than the picture.
TiffLayout read_tiff_layout(const Source& source, const TiffFile& file);

}  // namespace ttt::codec
