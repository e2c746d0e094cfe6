// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/codec.h"

#include <algorithm>
#include <array>
#include <string>

namespace ttt::codec {
namespace {

constexpr std::string_view kFormat = "BMP";
constexpr std::size_t kFileHeader = 14;

enum Compression : std::uint32_t { kRaw = 0, kRle8 = 1, kRle4 = 2, kBitfields = 3 };

/// Where the channels of a pixel are, as the bit masks of a BITFIELDS header say.
struct Masks {
  std::uint32_t red, green, blue, alpha;
  bool operator==(const Masks&) const = default;
};

struct Header {
  std::uint32_t size = 0;
  std::int64_t width = 0, height = 0;
  bool top_down = false;
  std::uint32_t bits = 0;
  std::uint32_t compression = kRaw;
  std::uint32_t colours = 0;
  std::size_t palette = 0;        ///< offset of the colour table
  std::size_t palette_entry = 4;  ///< bytes
  std::size_t pixels = 0;         ///< offset of the pixel data
  Masks masks{};

  bool run_length() const { return compression == kRle8 || compression == kRle4; }
  std::size_t stride() const { return (static_cast<std::size_t>(width) * bits + 31) / 32 * 4; }
  std::size_t row_bytes() const { return (static_cast<std::size_t>(width) * bits + 7) / 8; }
};

void read_masks(const ByteReader& file, Header& header) {
  const std::size_t at = kFileHeader + 40;  // inside a long header, behind a short one
  header.masks = {file.u32(at), file.u32(at + 4), file.u32(at + 8),
                  header.size >= 56 ? file.u32(at + 12) : 0};
  if (header.size == 40) header.palette += 12;
}

Header read_header(const Source& source, const ByteReader& file) {
  Header header;
  header.pixels = file.u32(10);
  header.size = file.u32(kFileHeader);
  if (!file.ok() || kFileHeader + header.size > file.size())
    fail_damaged(source, kFormat, "the file ends inside the header");
  header.palette = kFileHeader + header.size;
  if (header.size == 12) {
    header.width = file.u16(18);
    header.height = file.u16(20);
    header.bits = file.u16(24);
    header.palette_entry = 3;
  } else {
    constexpr std::array kSizes{40U, 52U, 56U, 64U, 108U, 124U};
    if (std::find(kSizes.begin(), kSizes.end(), header.size) == kSizes.end())
      fail_unsupported(source, "a BMP header of " + std::to_string(header.size) + " bytes");
    header.width = file.u32(18);
    header.top_down = file.u8(25) == 0xFF;
    header.height = header.top_down ? (std::int64_t{1} << 32) - file.u32(22) : file.u32(22);
    header.bits = file.u16(28);
    header.compression = file.u32(30);
    header.colours = file.u32(46);
    if (header.compression == kBitfields) read_masks(file, header);
  }
  if (!file.ok()) fail_damaged(source, kFormat, "the file ends inside the header");
  constexpr std::array kBits{1U, 4U, 8U, 16U, 24U, 32U};
  if (std::find(kBits.begin(), kBits.end(), header.bits) == kBits.end())
    fail_unsupported(source, "a BMP of " + std::to_string(header.bits) + " bits a pixel");
  if (header.compression > kBitfields || (header.compression == kBitfields && header.bits < 16) ||
      (header.compression == kRle8 && header.bits != 8) ||
      (header.compression == kRle4 && header.bits != 4))
    fail_unsupported(source, "a BMP of " + std::to_string(header.bits) + " bits with compression " +
                                 std::to_string(header.compression));
  if (header.bits > 8) header.colours = 0;
  if (header.bits <= 8 && header.colours == 0) header.colours = 1U << header.bits;
  if (header.colours > 256)
    fail_damaged(source, kFormat, "the colour table is larger than 256 entries");
  const std::size_t palette_bytes = header.palette_entry * header.colours;
  if (header.pixels == 0) header.pixels = header.palette + palette_bytes;
  if (header.pixels == kFileHeader + header.size && header.bits <= 8)
    header.pixels += source.official() ? std::size_t{4} * header.colours : palette_bytes;
  return header;
}

using Rgb = std::array<std::uint8_t, 3>;

/// What an index means. `depth` is the number of bits that Pillow takes for an index, which for
/// grey ramps isn't always the file's.
struct Palette {
  std::array<Rgb, 256> colours{};
  std::uint32_t depth = 0;
};

Palette read_palette(const ByteReader& file, const Source& source, const Header& header) {
  Palette palette;
  palette.depth = header.bits;
  bool ramp = true;
  const bool bilevel = header.colours == 2;
  for (std::uint32_t i = 0; i < header.colours; ++i) {
    const std::size_t at = header.palette + header.palette_entry * i;
    if (at + header.palette_entry > source.bytes.size()) {
      if (!source.official())
        fail_damaged(source, kFormat, "the file ends inside the colour table");
      ramp = false;
      break;
    }
    for (std::size_t c = 0; c < 3; ++c)
      palette.colours[i][c] = static_cast<std::uint8_t>(file.u8(at + 2 - c));
    const std::uint32_t grey = bilevel ? 255 * i : i;
    for (const std::uint8_t value : palette.colours[i]) ramp = ramp && value == grey;
  }
  if (!ramp || !source.official()) return palette;
  // Pillow drops a grey ramp and takes the indices for grey values of 8 bits, or of one bit.
  palette.depth = bilevel ? 1 : 8;
  if (header.run_length() ? bilevel : palette.depth > header.bits)
    fail_unsupported(source, "a BMP of few grey levels (in the official loader)");
  if (!bilevel)
    for (std::size_t i = 0; i < 256; ++i) palette.colours[i].fill(static_cast<std::uint8_t>(i));
  return palette;
}

std::uint32_t index_at(const std::uint8_t* row, std::size_t x, std::uint32_t depth) {
  if (depth == 8) return row[x];
  const std::size_t bit = x * depth;
  return row[bit / 8] >> (8 - depth - bit % 8) & ((1U << depth) - 1);
}

/// How the pixels without a palette are stored.
struct Layout {
  std::array<int, 4> bytes{2, 1, 0, -1};  ///< place of R, G, B, A in a pixel; A may be -1
  int green_bits = 0;                     ///< 5 or 6 for pixels of 16 bits
};

Layout layout_of(const Source& source, const Header& header) {
  Layout layout;
  if (header.compression != kBitfields) {
    layout.green_bits = header.bits == 16 ? 5 : 0;
    return layout;
  }
  struct Known {
    std::uint32_t bits;
    Masks masks;
    Layout layout;
  };
  static constexpr std::array kKnown{
      Known{32, {0xFF0000, 0xFF00, 0xFF, 0}, {{2, 1, 0, -1}, 0}},
      Known{32, {0xFF000000, 0xFF0000, 0xFF00, 0}, {{3, 2, 1, -1}, 0}},
      Known{32, {0xFF000000, 0xFF00, 0xFF, 0}, {{3, 1, 0, -1}, 0}},
      Known{32, {0xFF000000, 0xFF0000, 0xFF00, 0xFF}, {{3, 2, 1, 0}, 0}},
      Known{32, {0xFF, 0xFF00, 0xFF0000, 0xFF000000}, {{0, 1, 2, 3}, 0}},
      Known{32, {0xFF0000, 0xFF00, 0xFF, 0xFF000000}, {{2, 1, 0, 3}, 0}},
      Known{32, {0xFF000000, 0xFF00, 0xFF, 0xFF0000}, {{3, 1, 0, 2}, 0}},
      Known{32, {0, 0, 0, 0}, {{2, 1, 0, 3}, 0}},
      Known{24, {0xFF0000, 0xFF00, 0xFF, 0}, {{2, 1, 0, -1}, 0}},
      Known{16, {0xF800, 0x7E0, 0x1F, 0}, {{2, 1, 0, -1}, 6}},
      Known{16, {0x7C00, 0x3E0, 0x1F, 0}, {{2, 1, 0, -1}, 5}}};
  Masks masks = header.masks;
  if (header.bits != 32) masks.alpha = 0;
  for (const Known& known : kKnown)
    if (known.bits == header.bits && known.masks == masks) return known.layout;
  fail_unsupported(source, "a BMP with unusual colour masks");
}

Rgb pixel_16(const std::uint8_t* at, int green_bits) {
  const std::uint32_t value = at[0] | static_cast<std::uint32_t>(at[1]) << 8;
  const std::uint32_t green_max = (1U << green_bits) - 1;
  return {static_cast<std::uint8_t>((value >> (5 + green_bits) & 31) * 255 / 31),
          static_cast<std::uint8_t>((value >> 5 & green_max) * 255 / green_max),
          static_cast<std::uint8_t>((value & 31) * 255 / 31)};
}

/// Many programs leave the alpha bytes at 0 and mean an opaque picture.
bool uses_alpha(const Source& source, const Header& header, const Layout& layout) {
  if (source.official() || layout.bytes[3] < 0) return false;
  for (std::int64_t y = 0; y < header.height; ++y)
    for (std::int64_t x = 0; x < header.width; ++x)
      if (source.bytes[header.pixels + static_cast<std::size_t>(y) * header.stride() +
                       static_cast<std::size_t>(4 * x + layout.bytes[3])] != 0)
        return true;
  return false;
}

/// Where the pixels of a row go. Without a plane for alpha they are put over white.
struct Target {
  std::uint8_t* rgb;
  std::uint8_t* alpha;
};

void convert_row(const std::uint8_t* row, const Header& header, const Layout& layout, bool alpha,
                 Target target) {
  std::uint8_t* to = target.rgb;
  const std::size_t pixel = header.bits / 8;
  for (std::int64_t x = 0; x < header.width; ++x, row += pixel, to += 3) {
    if (layout.green_bits != 0) {
      const Rgb rgb = pixel_16(row, layout.green_bits);
      std::copy(rgb.begin(), rgb.end(), to);
      continue;
    }
    if (target.alpha != nullptr) target.alpha[x] = row[layout.bytes[3]];
    const bool composite = alpha && target.alpha == nullptr;
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint8_t value = row[layout.bytes[c]];
      to[c] = composite ? over_white(value, row[layout.bytes[3]]) : value;
    }
  }
}

Image decode_rows(const Source& source, const ByteReader& file, const Header& header) {
  const std::size_t size = source.bytes.size();
  const auto rows = static_cast<std::size_t>(header.height);
  if (!source.official() && (header.pixels > size || header.stride() * rows > size - header.pixels))
    fail_damaged(source, kFormat, "the file ends too early");
  const bool indexed = header.bits <= 8;
  const Palette palette = indexed ? read_palette(file, source, header) : Palette{};
  const Layout layout = indexed ? Layout{} : layout_of(source, header);
  const bool alpha = uses_alpha(source, header, layout);
  const std::size_t needed = indexed && palette.depth != header.bits
                                 ? (static_cast<std::size_t>(header.width) * palette.depth + 7) / 8
                                 : header.row_bytes();
  Image image = make_image(header.width, header.height);
  note_kind(source, indexed ? PixelKind::palette : alpha ? PixelKind::rgba : PixelKind::rgb);
  std::uint8_t* plane = alpha ? make_alpha(source, image) : nullptr;
  for (std::size_t i = 0; indexed && i < image.rgb.size(); ++i)
    image.rgb[i] = palette.colours[0][i % 3];
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t at = header.pixels + i * header.stride();
    if (at > size || needed > size - at) break;
    const std::uint8_t* row = source.bytes.data() + at;
    const std::size_t y = header.top_down ? i : rows - 1 - i;
    std::uint8_t* to = image.row(static_cast<int>(y));
    if (!indexed) {
      const std::size_t first = y * static_cast<std::size_t>(header.width);
      convert_row(row, header, layout, alpha, {to, plane == nullptr ? nullptr : plane + first});
      continue;
    }
    for (std::size_t x = 0; x < static_cast<std::size_t>(header.width); ++x, to += 3) {
      const Rgb& colour = palette.colours[index_at(row, x, palette.depth)];
      std::copy(colour.begin(), colour.end(), to);
    }
  }
  return image;
}

/// Unpacks run-length data to indices, row after row. Pillow reads two bytes too many at a jump and
/// drops the last pixel of odd literal runs of four-bit pixels; official mode does the same.
class RunLength {
 public:
  RunLength(const Source& source, const Header& header)
      : source_(source),
        width_(static_cast<std::size_t>(header.width)),
        total_(width_ * static_cast<std::size_t>(header.height)),
        nibbles_(header.compression == kRle4),
        header_end_(header.pixels),
        at_(header.pixels) {}

  std::vector<std::uint8_t> unpack() {
    while (out_.size() < total_ && at_ + 2 <= source_.bytes.size()) {
      const std::uint8_t count = source_.bytes[at_];
      const std::uint8_t value = source_.bytes[at_ + 1];
      at_ += 2;
      if (count > 0)
        run(count, value);
      else if (value == 0)
        end_line();
      else if (value == 1)
        break;
      else if (!(value == 2 ? jump() : literal(value)))
        fail_damaged(source_, kFormat, "the file ends too early");
    }
    if (source_.official() ? out_.size() < total_ : !ended())
      fail_damaged(source_, kFormat, "the file ends too early");
    out_.resize(total_);
    return std::move(out_);
  }

 private:
  /// The end-of-bitmap code was read or, perhaps behind an end of line, comes next.
  bool ended() const {
    const auto code_at = [&](std::size_t at, std::uint8_t code) {
      return at + 2 <= source_.bytes.size() && source_.bytes[at] == 0 &&
             source_.bytes[at + 1] == code;
    };
    return out_.size() < total_ ? at_ >= header_end_ + 2 && code_at(at_ - 2, 1)
                                : code_at(at_, 1) || (code_at(at_, 0) && code_at(at_ + 2, 1));
  }
  void run(std::size_t count, std::uint8_t value) {
    if (x_ + count > width_) count = width_ > x_ ? width_ - x_ : 0;
    for (std::size_t i = 0; i < count; ++i)
      out_.push_back(!nibbles_ ? value : i % 2 == 0 ? value >> 4 : value & 15);
    x_ += count;
  }
  void end_line() {
    out_.resize((out_.size() + width_ - 1) / width_ * width_);
    x_ = 0;
  }
  bool jump() {
    if (source_.official()) at_ += 2;
    if (at_ + 2 > source_.bytes.size()) return false;
    out_.resize(out_.size() + source_.bytes[at_] + source_.bytes[at_ + 1] * width_);
    x_ = out_.size() % width_;
    at_ += 2;
    return true;
  }
  bool literal(std::size_t count) {
    const std::size_t bytes = !nibbles_ ? count : source_.official() ? count / 2 : (count + 1) / 2;
    if (at_ + bytes > source_.bytes.size()) return false;
    const std::size_t end = out_.size() + (source_.official() && nibbles_ ? 2 * bytes : count);
    for (std::size_t i = 0; i < bytes; ++i) {
      const std::uint8_t value = source_.bytes[at_ + i];
      if (!nibbles_) {
        out_.push_back(value);
        continue;
      }
      out_.push_back(value >> 4);
      if (out_.size() < end) out_.push_back(value & 15);
    }
    x_ += count;
    at_ += bytes;
    at_ += source_.official() ? at_ % 2 : bytes % 2;
    return true;
  }

  const Source& source_;
  std::size_t width_, total_;
  bool nibbles_;
  std::size_t header_end_;
  std::size_t at_;
  std::size_t x_ = 0;
  std::vector<std::uint8_t> out_;
};

Image decode_runs(const Source& source, const ByteReader& file, const Header& header) {
  const Palette palette = read_palette(file, source, header);
  const std::vector<std::uint8_t> indices = RunLength(source, header).unpack();
  Image image = make_image(header.width, header.height);
  note_kind(source, PixelKind::palette);
  std::size_t i = 0;
  for (int r = 0; r < image.height; ++r) {
    std::uint8_t* to = image.row(header.top_down ? r : image.height - 1 - r);
    for (int x = 0; x < image.width; ++x, to += 3) {
      const Rgb& colour = palette.colours[indices[i++]];
      std::copy(colour.begin(), colour.end(), to);
    }
  }
  return image;
}

}  // namespace

Image decode_bmp(const Source& source) {
  const ByteReader file(source.bytes);
  const Header header = read_header(source, file);
  check_size(source, kFormat, header.width, header.height);
  return header.run_length() ? decode_runs(source, file, header)
                             : decode_rows(source, file, header);
}

}  // namespace ttt::codec
