// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/codec.h"

#include <algorithm>
#include <array>

namespace ttt::codec {
namespace {

constexpr std::string_view kFormat = "GIF";

using Palette = std::array<std::array<std::uint8_t, 3>, 256>;

/// The first frame's place and properties, and where its compressed data starts.
struct Frame {
  int left = 0, top = 0, width = 0, height = 0;
  bool interlaced = false;
  int transparent = -1;  ///< palette index, or -1
  Palette palette{};
  int code_bits = 0;
  std::size_t data = 0;
};

/// Reads a colour table of 2^bits entries; returns whether it counts 0, 1, 2, … That is a grey ramp
/// to Pillow, which continues it past its end.
bool read_palette(const ByteReader& file, std::size_t at, int bits, Palette& palette) {
  palette = {};
  bool ramp = true;
  for (std::size_t i = 0; i < std::size_t{1} << bits; ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      palette[i][c] = static_cast<std::uint8_t>(file.u8(at + 3 * i + c));
      ramp = ramp && palette[i][c] == i;
    }
  if (ramp)
    for (std::size_t i = 0; i < palette.size(); ++i) palette[i].fill(static_cast<std::uint8_t>(i));
  return ramp;
}

/// Skips sub-blocks up to and with their terminator; false when the file ends before it.
bool skip_blocks(const ByteReader& file, std::size_t& at) {
  while (const std::uint32_t length = file.u8(at)) at += 1 + length;
  ++at;
  return file.ok();
}

/// Reads from the screen descriptor to the first frame's data; grows the canvas to hold the frame.
Frame read_headers(const Source& source, const ByteReader& file, int& width, int& height) {
  constexpr std::uint32_t kTableFlag = 0x80;
  Frame frame;
  width = static_cast<int>(file.u16(6));
  height = static_cast<int>(file.u16(8));
  const std::uint32_t screen = file.u8(10);
  std::size_t at = 13;
  for (std::size_t i = 0; i < 256; ++i) frame.palette[i].fill(static_cast<std::uint8_t>(i));
  bool global_colours = false;
  if ((screen & kTableFlag) != 0) {
    const int bits = static_cast<int>(screen & 7) + 1;
    global_colours = !read_palette(file, at, bits, frame.palette);
    at += std::size_t{3} << bits;
  }
  for (std::uint32_t kind = file.u8(at); kind != ','; kind = file.u8(at)) {
    if (!file.ok() || kind == ';') fail_damaged(source, kFormat, "no picture inside");
    ++at;
    if (kind != '!') continue;
    constexpr std::uint32_t kGraphicControl = 0xF9;
    if (file.u8(at) == kGraphicControl && file.u8(at + 1) >= 4 && (file.u8(at + 2) & 1) != 0)
      frame.transparent = static_cast<int>(file.u8(at + 5));
    ++at;
    if (!skip_blocks(file, at)) fail_damaged(source, kFormat, "the file ends too early");
  }
  frame.left = static_cast<int>(file.u16(at + 1));
  frame.top = static_cast<int>(file.u16(at + 3));
  frame.width = static_cast<int>(file.u16(at + 5));
  frame.height = static_cast<int>(file.u16(at + 7));
  const std::uint32_t flags = file.u8(at + 9);
  frame.interlaced = (flags & 0x40) != 0;
  at += 10;
  if ((flags & kTableFlag) != 0) {
    const int bits = static_cast<int>(flags & 7) + 1;
    Palette local;
    const bool ramp = read_palette(file, at, bits, local);
    // Pillow prefers the global colours to a grey ramp.
    if (!(source.official() && ramp && global_colours)) frame.palette = local;
    at += std::size_t{3} << bits;
  }
  frame.code_bits = static_cast<int>(file.u8(at));
  frame.data = at + 1;
  if (!file.ok()) fail_damaged(source, kFormat, "the file ends too early");
  width = std::max(width, frame.left + frame.width);
  height = std::max(height, frame.top + frame.height);
  return frame;
}

/// Gives the bits of a frame's data, which is cut into sub-blocks.
class CodeReader {
 public:
  CodeReader(const ByteReader& file, std::size_t at) : file_(file), at_(at) {}

  /// The next code, or -1 where the data ends.
  int next(int bits) {
    while (available_ < bits) {
      if (left_ == 0) {
        left_ = file_.u8(at_);
        // Like Pillow, takes nothing from a sub-block that is cut.
        if (left_ == 0 || at_ + left_ >= file_.size()) return end();
        ++at_;
      }
      const std::uint32_t byte = file_.u8(at_++);
      --left_;
      buffer_ |= byte << available_;
      available_ += 8;
    }
    const int code = static_cast<int>(buffer_ & ((1U << bits) - 1));
    buffer_ >>= bits;
    available_ -= bits;
    return code;
  }
  /// Where the sub-block begins that is read next: the terminator, after all codes.
  std::size_t next_block() const { return at_ + left_; }

 private:
  int end() {
    left_ = 0;
    return -1;
  }

  const ByteReader& file_;
  std::size_t at_;
  std::uint32_t left_ = 0;
  std::uint32_t buffer_ = 0;
  int available_ = 0;
};

/// Unpacks the LZW codes to palette indices in file order, at most `count`. Stops early at the end
/// of the data and at an invalid code.
std::vector<std::uint8_t> unpack(CodeReader& codes, int code_bits, std::size_t count) {
  constexpr int kMaxBits = 12;
  constexpr int kMaxCodes = 1 << kMaxBits;
  struct Entry {
    std::uint16_t previous;
    std::uint8_t last;
    std::uint8_t first;
  };
  std::vector<Entry> table(kMaxCodes);
  const int clear = 1 << code_bits;
  const int end = clear + 1;
  for (int i = 0; i < clear; ++i)
    table[static_cast<std::size_t>(i)] = {0, static_cast<std::uint8_t>(i),
                                          static_cast<std::uint8_t>(i)};
  std::vector<std::uint8_t> out;
  std::vector<std::uint8_t> text;
  int bits = code_bits + 1;
  int next = clear + 2;
  int previous = -1;
  while (out.size() < count) {
    const int code = codes.next(bits);
    if (code < 0 || code == end) break;
    if (code == clear) {
      bits = code_bits + 1;
      next = clear + 2;
      previous = -1;
      continue;
    }
    // A code without a predecessor stands for itself; one that isn't in the table yet is its
    // predecessor's text and that text's first index once more.
    if (previous < 0 ? code >= clear : code > next || (code == next && next >= kMaxCodes)) break;
    text.clear();
    if (code == next) text.push_back(table[static_cast<std::size_t>(previous)].first);
    int walk = code == next ? previous : code;
    for (; walk >= clear; walk = table[static_cast<std::size_t>(walk)].previous)
      text.push_back(table[static_cast<std::size_t>(walk)].last);
    const auto first = static_cast<std::uint8_t>(walk);
    text.push_back(first);
    const std::size_t length = std::min(text.size(), count - out.size());
    out.insert(out.end(), text.rbegin(), text.rbegin() + static_cast<std::ptrdiff_t>(length));
    if (previous >= 0 && next < kMaxCodes) {
      table[static_cast<std::size_t>(next)] = {static_cast<std::uint16_t>(previous), first,
                                               table[static_cast<std::size_t>(previous)].first};
      if (++next == 1 << bits && bits < kMaxBits) ++bits;
    }
    previous = code;
  }
  return out;
}

/// The frame's rows in the order in which the file stores them.
std::vector<int> row_order(const Frame& frame) {
  std::vector<int> rows;
  if (frame.interlaced)
    for (const auto& [first, step] : {std::pair{0, 8}, {4, 8}, {2, 4}, {1, 2}})
      for (int y = first; y < frame.height; y += step) rows.push_back(y);
  else
    for (int y = 0; y < frame.height; ++y) rows.push_back(y);
  return rows;
}

/// Walks over everything behind the first frame to the trailer, which a cut file lacks.
bool complete_after(const ByteReader& file, std::size_t at) {
  while (file.ok()) {
    const std::uint32_t kind = file.u8(at++);
    if (kind == ';') return true;
    if (kind == '!') {
      ++at;
    } else if (kind == ',') {
      const std::uint32_t flags = file.u8(at + 8);
      at += 9;
      if ((flags & 0x80) != 0) at += std::size_t{3} << ((flags & 7) + 1);
      ++at;
    } else {
      return false;
    }
    if (!skip_blocks(file, at)) return false;
  }
  return false;
}

}  // namespace

Image decode_gif(const Source& source) {
  const ByteReader file(source.bytes);
  int width = 0;
  int height = 0;
  const Frame frame = read_headers(source, file, width, height);
  check_size(source, kFormat, width, height);
  // A code of 9 to 12 bits stands for 4096 pixels at most.
  check_plausible(source, kFormat, frame.width, frame.height, 4096);
  if (frame.code_bits < 1 || frame.code_bits > 8)
    fail_damaged(source, kFormat, "the code size is out of range");

  const auto count = static_cast<std::size_t>(frame.width) * static_cast<std::size_t>(frame.height);
  CodeReader codes(file, frame.data);
  const std::vector<std::uint8_t> indices = unpack(codes, frame.code_bits, count);
  if (!source.official()) {
    std::size_t at = codes.next_block();
    if (indices.size() < count || !skip_blocks(file, at) || !complete_after(file, at))
      fail_damaged(source, kFormat, "the file ends too early or its data is invalid");
  }

  Image image = make_image(width, height);
  note_kind(source, PixelKind::palette);
  std::uint8_t* alpha = frame.transparent >= 0 ? make_alpha(source, image) : nullptr;
  if (alpha != nullptr) std::fill_n(alpha, image.rgb.size() / 3, std::uint8_t{0});
  // Where nothing is drawn the picture is transparent, or holds index 0.
  const auto colour_of = [&](int index) {
    const bool white = !source.official() && index == frame.transparent;
    return white ? std::array<std::uint8_t, 3>{255, 255, 255}
                 : frame.palette[static_cast<std::size_t>(index)];
  };
  const auto background = colour_of(std::max(frame.transparent, 0));
  for (std::size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = background[i % 3];
  const std::vector<int> rows = row_order(frame);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(frame.width);
    const std::size_t x = i % static_cast<std::size_t>(frame.width);
    const auto colour = colour_of(indices[i]);
    const std::size_t at =
        static_cast<std::size_t>(frame.top + rows[row]) * static_cast<std::size_t>(width) +
        static_cast<std::size_t>(frame.left) + x;
    std::copy(colour.begin(), colour.end(), image.rgb.data() + 3 * at);
    if (alpha != nullptr && indices[i] != frame.transparent) alpha[at] = 255;
  }
  return image;
}

}  // namespace ttt::codec
