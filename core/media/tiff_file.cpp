// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/tiff_file.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace ttt::codec {

struct TiffCallbacks {
  static TiffFile& self(thandle_t handle) { return *static_cast<TiffFile*>(handle); }

  static tmsize_t read(thandle_t handle, void* to, tmsize_t count) {
    TiffFile& file = self(handle);
    if (file.position_ >= file.bytes_.size()) return 0;
    const std::uint64_t left = file.bytes_.size() - file.position_;
    const std::uint64_t size = std::min<std::uint64_t>(left, static_cast<std::uint64_t>(count));
    std::memcpy(to, file.bytes_.data() + file.position_, size);
    file.position_ += size;
    return static_cast<tmsize_t>(size);
  }
  static tmsize_t write(thandle_t, void*, tmsize_t) { return 0; }
  static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    TiffFile& file = self(handle);
    const std::uint64_t base = whence == SEEK_SET   ? 0
                               : whence == SEEK_CUR ? file.position_
                                                    : file.bytes_.size();
    return file.position_ = base + offset;
  }
  static int close(thandle_t) { return 0; }
  static toff_t size(thandle_t handle) { return self(handle).bytes_.size(); }
  static int map(thandle_t handle, void** base, toff_t* size) {
    // libtiff only reads from a file that is opened for reading.
    *base = const_cast<std::uint8_t*>(self(handle).bytes_.data());
    *size = self(handle).bytes_.size();
    return 1;
  }
  static void unmap(thandle_t, void*, toff_t) {}
  static int error(TIFF*, void* user, const char*, const char* format, va_list arguments) {
    return TiffFile::keep(static_cast<TiffFile*>(user)->error_, format, arguments);
  }
  static int warning(TIFF*, void* user, const char*, const char* format, va_list arguments) {
    return TiffFile::keep(static_cast<TiffFile*>(user)->warning_, format, arguments);
  }
};

int TiffFile::keep(std::string& kept, const char* format, va_list arguments) {
  if (kept.empty()) {
    std::array<char, 300> text{};
    std::vsnprintf(text.data(), text.size(), format, arguments);
    kept = text.data();
  }
  return 1;
}

namespace {

/// Throws Error(input) when the values of a tag lie outside the file: libtiff would go on without
/// the tag and, for a colour table, take the indices for grey. So would Pillow, but for the colour
/// table.
void check_tags(const Source& source) {
  constexpr std::uint32_t kColourMap = 320;
  constexpr std::array<std::size_t, 19> kTypeBytes{0, 1, 1, 2, 4, 8, 1, 1, 2, 4,
                                                   8, 4, 8, 4, 0, 0, 8, 8, 8};
  const ByteReader file(source.bytes, source.bytes[0] == 'M');
  const bool big = file.u16(2) == 43;
  const auto number = [&](std::size_t at) {  // 32 bits, or 64 in a BigTIFF
    if (!big) return std::uint64_t{file.u32(at)};
    const std::uint64_t first = file.u32(at);
    const std::uint64_t second = file.u32(at + 4);
    return source.bytes[0] == 'M' ? first << 32 | second : second << 32 | first;
  };
  const std::size_t entry_bytes = big ? 20 : 12;
  const std::size_t inline_bytes = big ? 8 : 4;
  const std::uint64_t directory = number(big ? 8 : 4);
  if (directory >= source.bytes.size()) return;  // libtiff has a message for that
  const std::uint32_t entries = file.u16(directory);
  for (std::uint32_t i = 0; i < entries && file.ok(); ++i) {
    const std::size_t at = directory + (big ? 8 : 2) + i * entry_bytes;
    const std::uint32_t tag = file.u16(at);
    const std::uint32_t type = file.u16(at + 2);
    const std::uint64_t count = number(at + 4);
    if (type >= kTypeBytes.size() || (source.official() && tag != kColourMap)) continue;
    if (count > source.bytes.size())
      fail_damaged(source, "TIFF", "the values of tag " + std::to_string(tag) + " are missing");
    const std::uint64_t size = count * kTypeBytes[type];
    const std::uint64_t offset = number(at + (big ? 12 : 8));
    if (size > inline_bytes &&
        (offset > source.bytes.size() || size > source.bytes.size() - offset))
      fail_damaged(source, "TIFF", "the values of tag " + std::to_string(tag) + " are missing");
  }
  number(directory + (big ? 8 : 2) + entries * entry_bytes);  // where the next picture is
  if (!file.ok() && !source.official())
    fail_damaged(source, "TIFF", "the file ends inside its directory");
}

}  // namespace

TiffFile::TiffFile(const Source& source) : bytes_(source.bytes) {
  check_tags(source);
  constexpr tmsize_t kMaxAllocation = tmsize_t{1} << 30;
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, kMaxAllocation);
  TIFFOpenOptionsSetErrorHandlerExtR(options, TiffCallbacks::error, this);
  TIFFOpenOptionsSetWarningHandlerExtR(options, TiffCallbacks::warning, this);
  tiff_ = TIFFClientOpenExt("TIFF", "r", this, TiffCallbacks::read, TiffCallbacks::write,
                            TiffCallbacks::seek, TiffCallbacks::close, TiffCallbacks::size,
                            TiffCallbacks::map, TiffCallbacks::unmap, options);
  TIFFOpenOptionsFree(options);
  if (tiff_ == nullptr) fail_damaged(source, "TIFF", message());
}

TiffFile::~TiffFile() {
  TIFFClose(tiff_);
}

bool TiffFile::has(std::uint32_t tag) const {
  const TIFFField* field = TIFFFindField(tiff_, tag, TIFF_ANY);
  // TIFFGetField writes as many values as the tag has; four pointers hold the largest.
  std::array<void*, 4> values{};
  return field != nullptr &&
         TIFFGetField(tiff_, tag, &values[0], &values[1], &values[2], &values[3]) != 0;
}

void TiffFile::clear_messages() {
  error_.clear();
  warning_.clear();
}

namespace {

/// Camera RAW files are TIFF files too; their first picture is a thumbnail or a sensor mosaic.
bool is_camera_raw(const TiffFile& file, const TiffLayout& layout) {
  constexpr std::uint16_t kMosaic = 32803;
  constexpr std::uint16_t kLinearRaw = 34892;
  const bool thumbnail =
      (file.field<std::uint32_t>(TIFFTAG_SUBFILETYPE) & FILETYPE_REDUCEDIMAGE) != 0;
  return layout.photometric == kMosaic || layout.photometric == kLinearRaw ||
         file.has(TIFFTAG_DNGVERSION) || (thumbnail && file.has(TIFFTAG_SUBIFD));
}

/// The combinations that Pillow 11.3 opens (its table OPEN_INFO) and decodes as what they are.
bool pillow_decodes(const TiffLayout& layout) {
  const bool one_plane = !layout.separate_planes || layout.samples == 1;
  const bool bits_8 = layout.bits == 8;
  const bool bits_16 = layout.bits == 16;
  // Without compression, 16-bit planes are taken for 8-bit ones.
  if (!one_plane && (layout.extra_count > 0 || (bits_16 && layout.raw()))) return false;
  if (layout.fill_order == 2 && (bits_16 || layout.extra_count > 0)) return false;
  switch (layout.photometric) {
    case PHOTOMETRIC_MINISWHITE:
      return layout.samples == 1 && !(bits_16 && layout.big_endian);
    case PHOTOMETRIC_MINISBLACK:
      return layout.samples == 1 ||
             (layout.samples == 2 && bits_8 && layout.extra == EXTRASAMPLE_UNASSALPHA);
    case PHOTOMETRIC_RGB:
      return (bits_8 && layout.samples <= 6) || (bits_16 && layout.samples <= 4);
    case PHOTOMETRIC_PALETTE:
      return layout.bits <= 8 && (layout.samples == 1 || (layout.samples == 2 && bits_8 &&
                                                          layout.extra == EXTRASAMPLE_UNASSALPHA));
    case PHOTOMETRIC_SEPARATED:
      return (bits_8 && layout.samples <= 6) || (bits_16 && layout.samples == 4);
    case PHOTOMETRIC_YCBCR:
      return bits_8 && layout.samples == 3 && !layout.raw() && one_plane;
    default:
      return false;
  }
}

std::uint16_t colours_of(std::uint16_t photometric) {
  switch (photometric) {
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_YCBCR:
      return 3;
    case PHOTOMETRIC_SEPARATED:
      return 4;
    default:
      return 1;
  }
}

void check_supported(const Source& source, const TiffFile& file, const TiffLayout& layout) {
  if (is_camera_raw(file, layout)) fail_unsupported(source, "a camera RAW file (DNG, NEF, ARW, …)");
  switch (file.field(TIFFTAG_SAMPLEFORMAT)) {
    case SAMPLEFORMAT_UINT:
    case SAMPLEFORMAT_VOID:
      break;
    case SAMPLEFORMAT_IEEEFP:
      fail_unsupported(source, "a TIFF of floating-point samples");
    default:
      fail_unsupported(source, "a TIFF of signed or complex samples");
  }
  constexpr std::array kBits{1, 2, 4, 8, 16};
  if (std::find(kBits.begin(), kBits.end(), layout.bits) == kBits.end())
    fail_unsupported(source, "a TIFF of " + std::to_string(layout.bits) + "-bit samples");
  if (TIFFIsCODECConfigured(layout.compression) == 0)
    fail_unsupported(source, "a TIFF with compression " + std::to_string(layout.compression));
  constexpr std::array kPhotometric{PHOTOMETRIC_MINISWHITE, PHOTOMETRIC_MINISBLACK,
                                    PHOTOMETRIC_RGB,        PHOTOMETRIC_PALETTE,
                                    PHOTOMETRIC_SEPARATED,  PHOTOMETRIC_YCBCR};
  if (std::find(kPhotometric.begin(), kPhotometric.end(), layout.photometric) == kPhotometric.end())
    fail_unsupported(source, "a TIFF of colour kind " + std::to_string(layout.photometric));
  const bool deep = layout.bits >= 8;
  const bool shallow_fits =
      layout.samples == 1 && (layout.colours() == 1) && layout.photometric != PHOTOMETRIC_YCBCR;
  if (layout.colours() != colours_of(layout.photometric) || layout.samples > 8 ||
      !(deep || shallow_fits) || (layout.palette() && layout.bits > 8))
    fail_unsupported(source, "a TIFF of " + std::to_string(layout.samples) + " samples of " +
                                 std::to_string(layout.bits) + " bits of colour kind " +
                                 std::to_string(layout.photometric));
  if (source.official() && !pillow_decodes(layout))
    fail_unsupported(source, "this kind of TIFF (in the official loader)");
}

}  // namespace

TiffLayout read_tiff_layout(const Source& source, const TiffFile& file) {
  TiffLayout layout;
  layout.width = file.field<std::uint32_t>(TIFFTAG_IMAGEWIDTH);
  layout.height = file.field<std::uint32_t>(TIFFTAG_IMAGELENGTH);
  layout.bits = file.field(TIFFTAG_BITSPERSAMPLE);
  layout.samples = file.field(TIFFTAG_SAMPLESPERPIXEL);
  layout.compression = file.field(TIFFTAG_COMPRESSION);
  layout.fill_order = file.field(TIFFTAG_FILLORDER);
  layout.separate_planes =
      file.field(TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE && layout.samples > 1;
  layout.big_endian = TIFFIsBigEndian(file.get()) != 0;
  TIFFGetField(file.get(), TIFFTAG_PHOTOMETRIC, &layout.photometric);
  std::uint16_t* extras = nullptr;
  if (TIFFGetField(file.get(), TIFFTAG_EXTRASAMPLES, &layout.extra_count, &extras) != 0 &&
      layout.extra_count > 0)
    layout.extra = extras[0];
  layout.extra_count = std::min(layout.extra_count, layout.samples);
  check_supported(source, file, layout);
  return layout;
}

}  // namespace ttt::codec
