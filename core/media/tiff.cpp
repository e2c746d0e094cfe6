// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/codec.h"
#include "core/media/orientation.h"
#include "core/media/tiff_file.h"

#include <algorithm>
#include <array>

namespace ttt::codec {
namespace {

constexpr std::string_view kFormat = "TIFF";

/// How a picture is cut: strips are blocks as wide as the picture.
struct Blocks {
  std::uint32_t width = 0, height = 0;
  std::size_t row_bytes = 0;
  std::uint32_t across = 0, down = 0;
};

Blocks read_blocks(const Source& source, const TiffFile& file, const TiffLayout& layout) {
  TIFF* tiff = file.get();
  Blocks blocks;
  if (TIFFIsTiled(tiff) != 0) {
    blocks.width = file.field<std::uint32_t>(TIFFTAG_TILEWIDTH);
    blocks.height = file.field<std::uint32_t>(TIFFTAG_TILELENGTH);
  } else {
    blocks.width = layout.width;
    blocks.height = std::min(file.field<std::uint32_t>(TIFFTAG_ROWSPERSTRIP), layout.height);
  }
  if (blocks.width == 0 || blocks.height == 0) fail_damaged(source, kFormat, "empty blocks");
  const std::uint64_t samples = layout.separate_planes ? 1 : layout.samples;
  blocks.row_bytes = (std::uint64_t{blocks.width} * samples * layout.bits + 7) / 8;
  // A tile that is absurdly larger than the picture must not make us allocate it.
  constexpr std::uint64_t kSlack = 1 << 24;
  const std::uint64_t picture = std::uint64_t{layout.width} * layout.height * layout.samples * 2;
  if (blocks.row_bytes > (4 * picture + kSlack) / blocks.height)
    fail_damaged(source, kFormat, "tiles far larger than the picture");
  blocks.across = (layout.width - 1) / blocks.width + 1;
  blocks.down = (layout.height - 1) / blocks.height + 1;
  return blocks;
}

/// The sample `at` of a row as 8 bits; indices of a palette stay as they are.
std::uint8_t sample_at(const std::uint8_t* row, std::size_t at, const TiffLayout& layout,
                       bool official) {
  if (layout.bits == 16) {
    const auto value = static_cast<std::uint32_t>(reinterpret_cast<const std::uint16_t*>(row)[at]);
    if (!official) return scale_16_to_8(value);
    const bool grey = layout.photometric <= PHOTOMETRIC_MINISBLACK;
    return static_cast<std::uint8_t>(grey ? std::min(value, 255U) : value >> 8);
  }
  if (layout.bits == 8) return row[at];
  const std::size_t bit = at * layout.bits;
  const std::uint32_t max = (1U << layout.bits) - 1;
  const std::uint32_t value = row[bit / 8] >> (8 - layout.bits - bit % 8) & max;
  return static_cast<std::uint8_t>(layout.palette() ? value : value * (255 / max));
}

/// Pillow doesn't invert 16-bit grey.
bool inverted(const Source& source, const TiffLayout& layout) {
  return layout.photometric == PHOTOMETRIC_MINISWHITE && !(source.official() && layout.bits == 16);
}

/// The samples of as many rows as a block has, side by side: samples[(y * width + x) * per_pixel].
class Band {
 public:
  Band(const Source& source, const TiffFile& file, const TiffLayout& layout, const Blocks& blocks)
      : source_(source), file_(file), layout_(layout), blocks_(blocks) {
    // An even size, since 16-bit samples are read from it.
    data_.resize((blocks.row_bytes * blocks.height + 1) / 2 * 2);
    samples_.resize(std::size_t{layout.width} * blocks.height * layout.samples);
  }

  void read(std::uint32_t band, std::uint32_t rows) {
    std::fill(samples_.begin(), samples_.end(), 0);
    const std::uint32_t planes = layout_.separate_planes ? layout_.samples : 1;
    // Tiles are whole even where they stick out; the last strip ends with the picture.
    const std::uint32_t block_rows = TIFFIsTiled(file_.get()) != 0 ? blocks_.height : rows;
    for (std::uint32_t plane = 0; plane < planes; ++plane)
      for (std::uint32_t column = 0; column < blocks_.across; ++column) {
        const std::uint32_t index = (plane * blocks_.down + band) * blocks_.across + column;
        const std::uint32_t intact = read_block(index, block_rows);
        // What Pillow hands to libtiff is read completely or not at all.
        if (intact < block_rows && !(source_.official() && layout_.raw()))
          fail_damaged(source_, kFormat,
                       file_.message().empty() ? "the file ends too early" : file_.message());
        place(plane, column, std::min(intact, rows));
      }
  }

  const std::uint8_t* row(std::uint32_t y) const {
    return samples_.data() + std::size_t{y} * layout_.width * layout_.samples;
  }

 private:
  /// Reads one block into data_ and returns its number of intact rows.
  std::uint32_t read_block(std::uint32_t index, std::uint32_t rows) {
    TIFF* tiff = file_.get();
    const std::size_t wanted = blocks_.row_bytes * rows;
    if (layout_.raw()) {
      // Read by hand, since libtiff gives nothing of a block that is cut.
      const std::uint64_t offset = TIFFGetStrileOffset(tiff, index);
      if (offset == 0 || offset >= source_.bytes.size()) return 0;
      const std::size_t size = std::min<std::size_t>(wanted, source_.bytes.size() - offset);
      std::copy_n(source_.bytes.begin() + static_cast<std::ptrdiff_t>(offset), size, data_.begin());
      if (layout_.bits == 16 && TIFFIsByteSwapped(tiff) != 0)
        TIFFSwabArrayOfShort(reinterpret_cast<std::uint16_t*>(data_.data()),
                             static_cast<tmsize_t>(size / 2));
      if (layout_.fill_order == FILLORDER_LSB2MSB)
        TIFFReverseBits(data_.data(), static_cast<tmsize_t>(size));
      return static_cast<std::uint32_t>(size / blocks_.row_bytes);
    }
    const auto size = static_cast<tmsize_t>(wanted);
    const tmsize_t got = TIFFIsTiled(tiff) != 0
                             ? TIFFReadEncodedTile(tiff, index, data_.data(), size)
                             : TIFFReadEncodedStrip(tiff, index, data_.data(), size);
    return got == size ? rows : 0;
  }
  void place(std::uint32_t plane, std::uint32_t column, std::uint32_t rows) {
    const std::uint32_t left = column * blocks_.width;
    const std::uint32_t width = std::min(blocks_.width, layout_.width - left);
    const std::size_t per_pixel = layout_.separate_planes ? 1 : layout_.samples;
    const std::uint8_t flip = inverted(source_, layout_) ? 255 : 0;
    for (std::uint32_t y = 0; y < rows; ++y) {
      const std::uint8_t* from = data_.data() + y * blocks_.row_bytes;
      std::uint8_t* to =
          samples_.data() + (std::size_t{y} * layout_.width + left) * layout_.samples + plane;
      for (std::size_t i = 0; i < width * per_pixel;
           ++i, to += layout_.separate_planes ? layout_.samples : 1)
        *to = sample_at(from, i, layout_, source_.official()) ^ (i % per_pixel == 0 ? flip : 0);
    }
  }

  const Source& source_;
  const TiffFile& file_;
  const TiffLayout& layout_;
  const Blocks& blocks_;
  std::vector<std::uint8_t> data_;
  std::vector<std::uint8_t> samples_;
};

using Palette = std::array<std::array<std::uint8_t, 3>, 256>;

Palette read_palette(const Source& source, const TiffFile& file, const TiffLayout& layout) {
  std::array<std::uint16_t*, 3> maps{};
  if (TIFFGetField(file.get(), TIFFTAG_COLORMAP, &maps[0], &maps[1], &maps[2]) == 0)
    fail_damaged(source, kFormat, "the colour table is missing");
  Palette palette{};
  for (std::size_t i = 0; i < std::size_t{1} << layout.bits; ++i)
    for (std::size_t c = 0; c < 3; ++c) palette[i][c] = static_cast<std::uint8_t>(maps[c][i] >> 8);
  return palette;
}

/// One pixel's samples to RGB without alpha.
void convert_pixel(const std::uint8_t* from, const TiffLayout& layout, const Palette& palette,
                   std::uint8_t* to) {
  if (layout.photometric == PHOTOMETRIC_SEPARATED)
    cmyk_to_rgb(from, to);
  else if (layout.palette())
    std::copy_n(palette[from[0]].begin(), 3, to);
  else if (layout.colours() == 1)
    std::fill_n(to, 3, from[0]);
  else
    std::copy_n(from, 3, to);
}

/// Straight colour where the official loader or the caller wants it, else over white.
void apply_alpha(const Source& source, const TiffLayout& layout, std::uint32_t alpha,
                 std::uint8_t* to) {
  const bool premultiplied = layout.extra == EXTRASAMPLE_ASSOCALPHA;
  for (int c = 0; c < 3; ++c) {
    if (!source.official() && source.stored == nullptr)
      to[c] = premultiplied ? static_cast<std::uint8_t>(std::min(255U, to[c] + 255 - alpha))
                            : over_white(to[c], alpha);
    else if (premultiplied && alpha == 0)
      to[c] = 0;
    else if (premultiplied)
      to[c] = static_cast<std::uint8_t>(std::min(255U, to[c] * 255U / alpha));
  }
}

PixelKind kind_of(const TiffLayout& layout, bool alpha) {
  if (layout.palette()) return PixelKind::palette;
  if (layout.photometric == PHOTOMETRIC_SEPARATED) return PixelKind::cmyk;
  if (layout.colours() == 1) return alpha ? PixelKind::grey_alpha : PixelKind::grey;
  return alpha ? PixelKind::rgba : PixelKind::rgb;
}

Image decode_bands(const Source& source, TiffFile& file, const TiffLayout& layout) {
  const Blocks blocks = read_blocks(source, file, layout);
  const Palette palette = layout.palette() ? read_palette(source, file, layout) : Palette{};
  const bool alpha = layout.extra_count > 0 && (layout.extra == EXTRASAMPLE_ASSOCALPHA ||
                                                layout.extra == EXTRASAMPLE_UNASSALPHA);
  Band band(source, file, layout, blocks);
  Image image = make_image(layout.width, layout.height);
  std::uint8_t* plane = alpha ? make_alpha(source, image) : nullptr;
  note_kind(source, kind_of(layout, alpha));
  for (std::uint32_t b = 0; b < blocks.down; ++b) {
    const std::uint32_t top = b * blocks.height;
    const std::uint32_t rows = std::min(blocks.height, layout.height - top);
    band.read(b, rows);
    for (std::uint32_t y = 0; y < rows; ++y) {
      const std::uint8_t* from = band.row(y);
      std::uint8_t* to = image.row(static_cast<int>(top + y));
      for (std::uint32_t x = 0; x < layout.width; ++x, from += layout.samples, to += 3) {
        convert_pixel(from, layout, palette, to);
        if (!alpha) continue;
        apply_alpha(source, layout, from[layout.colours()], to);
        if (plane != nullptr) *plane++ = from[layout.colours()];
      }
    }
  }
  return image;
}

/// YCbCr that isn't JPEG: libtiff converts it itself.
Image decode_ycbcr(const Source& source, TiffFile& file, const TiffLayout& layout) {
  TIFFRGBAImage converter{};
  std::array<char, 1024> message{};
  if (TIFFRGBAImageBegin(&converter, file.get(), 1, message.data()) == 0)
    fail_damaged(source, kFormat, message.data());
  converter.req_orientation = converter.orientation;
  std::vector<std::uint32_t> pixels(std::size_t{layout.width} * layout.height);
  const int ok = TIFFRGBAImageGet(&converter, pixels.data(), layout.width, layout.height);
  TIFFRGBAImageEnd(&converter);
  if (ok == 0) fail_damaged(source, kFormat, file.message());
  Image image = make_image(layout.width, layout.height);
  std::uint8_t* to = image.rgb.data();
  for (const std::uint32_t pixel : pixels) {
    *to++ = static_cast<std::uint8_t>(TIFFGetR(pixel));
    *to++ = static_cast<std::uint8_t>(TIFFGetG(pixel));
    *to++ = static_cast<std::uint8_t>(TIFFGetB(pixel));
  }
  return image;
}

/// Compressed data may be cut in bytes that its decoder never asks for.
void check_complete(const Source& source, const TiffFile& file) {
  TIFF* tiff = file.get();
  const std::uint64_t size = source.bytes.size();
  const std::uint32_t count =
      TIFFIsTiled(tiff) != 0 ? TIFFNumberOfTiles(tiff) : TIFFNumberOfStrips(tiff);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t offset = TIFFGetStrileOffset(tiff, i);
    if (offset > size || TIFFGetStrileByteCount(tiff, i) > size - offset)
      fail_damaged(source, kFormat, "the file ends too early");
  }
}

/// Pixels that one byte can hold, or 0 for compressions that have no such bound.
std::int64_t max_pixels_per_byte(std::uint16_t compression) {
  switch (compression) {
    case COMPRESSION_NONE:
      return 8;
    case COMPRESSION_PACKBITS:
      return 64 * 8;
    case COMPRESSION_LZW:
      return 4096 * 8;
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_DEFLATE:
      return 1032 * 8;
    case COMPRESSION_JPEG:
      return 64 * 8 * 16;
    default:
      return 0;
  }
}

}  // namespace

Image decode_tiff(const Source& source) {
  TiffFile file(source);
  TiffLayout layout = read_tiff_layout(source, file);
  check_size(source, kFormat, layout.width, layout.height);
  if (const std::int64_t density = max_pixels_per_byte(layout.compression); density > 0)
    check_plausible(source, kFormat, layout.width, layout.height, density);
  if (!source.official()) check_complete(source, file);
  file.clear_messages();  // from here on, warnings are about the data
  const bool ycbcr = layout.photometric == PHOTOMETRIC_YCBCR;
  const bool jpeg_rgb = ycbcr && layout.compression == COMPRESSION_JPEG && !layout.separate_planes;
  if (jpeg_rgb) TIFFSetField(file.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  Image image =
      ycbcr && !jpeg_rgb ? decode_ycbcr(source, file, layout) : decode_bands(source, file, layout);
  if (!source.official() && !file.message().empty()) fail_damaged(source, kFormat, file.message());
  return finish_orientation(source, std::move(image), file.field(TIFFTAG_ORIENTATION));
}

}  // namespace ttt::codec
