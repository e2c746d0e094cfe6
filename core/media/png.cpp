// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/codec.h"
#include "core/media/orientation.h"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <png.h>

namespace ttt::codec {
namespace {

constexpr std::string_view kFormat = "PNG";

/// A decompressor. Each step returns false after a fatal error, with the message in message().
class PngReader {
 public:
  explicit PngReader(const Source& source) : source_(source), left_(source.bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error,
                                  [](png_structp, png_const_charp) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png_, this, on_read);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  bool read_header();
  /// Chooses the sample format of the rows: 8 bits, but 16-bit grey in official mode.
  bool start();
  bool read_row(std::uint8_t* row) {
    row_ = png_get_current_row_number(png_);
    pass_ = png_get_current_pass_number(png_);
    // After the last row libpng looks at what follows, which Pillow doesn't.
    if (setjmp(png_jmpbuf(png_)) != 0) return source_.official() && moved_on();
    png_read_row(png_, row, nullptr);
    return true;
  }
  /// Reads on to the end chunk and checks what follows the pixels.
  bool finish() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_end(png_, info_);
    return true;
  }

  std::int64_t width() const { return png_get_image_width(png_, info_); }
  std::int64_t height() const { return png_get_image_height(png_, info_); }
  bool interlaced() const { return png_get_interlace_type(png_, info_) == PNG_INTERLACE_ADAM7; }
  int colour_type() const { return png_get_color_type(png_, info_); }
  int channels() const { return png_get_channels(png_, info_); }
  int bit_depth() const { return png_get_bit_depth(png_, info_); }
  std::size_t row_bytes() const { return png_get_rowbytes(png_, info_); }
  /// Of the palette; black without one.
  png_color first_colour() const;
  int orientation() const;
  const char* message() const { return message_; }

 private:
  /// libpng counted the row that was being read.
  bool moved_on() const {
    return png_get_current_row_number(png_) != row_ || png_get_current_pass_number(png_) != pass_;
  }
  static void on_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(self->message_, message, sizeof self->message_ - 1);
    png_longjmp(png, 1);
  }
  static void on_read(png_structp png, png_bytep to, std::size_t count) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self->left_.size()) png_error(png, "the file ends too early");
    std::copy_n(self->left_.begin(), count, to);
    self->left_ = self->left_.subspan(count);
  }

  const Source& source_;
  std::span<const std::uint8_t> left_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  png_uint_32 row_ = 0;  // where libpng was before the row that is being read
  int pass_ = 0;
  char message_[200] = {};
};

bool PngReader::read_header() {
  if (setjmp(png_jmpbuf(png_)) != 0) return false;
  const auto max_side = static_cast<png_uint_32>(PNG_UINT_31_MAX);
  png_set_user_limits(png_, max_side, max_side);
  // Chunks that don't change the pixels: never unpacked, so never a way to run out of memory.
  static constexpr png_byte kSkipped[] =
      "iCCP\0tEXt\0zTXt\0iTXt\0sPLT\0hIST\0pHYs\0sCAL\0tIME\0gAMA\0cHRM\0sRGB\0sBIT\0bKGD\0";
  png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, kSkipped,
                              static_cast<int>(sizeof kSkipped / 5));
  png_set_crc_action(png_, PNG_CRC_ERROR_QUIT,
                     source_.official() ? PNG_CRC_QUIET_USE : PNG_CRC_ERROR_QUIT);
  png_read_info(png_, info_);
  // From here on Pillow doesn't look at checksums.
  if (source_.official()) png_set_crc_action(png_, PNG_CRC_QUIET_USE, PNG_CRC_NO_CHANGE);
  return true;
}

bool PngReader::start() {
  if (setjmp(png_jmpbuf(png_)) != 0) return false;
  const int colour = png_get_color_type(png_, info_);
  if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
  if (colour == PNG_COLOR_TYPE_GRAY && bit_depth() < 8) png_set_expand_gray_1_2_4_to_8(png_);
  if (!source_.official()) {
    if (png_get_valid(png_, info_, PNG_INFO_tRNS) != 0) png_set_tRNS_to_alpha(png_);
    if (bit_depth() == 16) png_set_scale_16(png_);
  } else if (bit_depth() == 16 && colour != PNG_COLOR_TYPE_GRAY) {
    png_set_strip_16(png_);
  }
  png_read_update_info(png_, info_);
  return true;
}

png_color PngReader::first_colour() const {
  png_colorp palette = nullptr;
  int count = 0;
  if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE)
    png_get_PLTE(png_, info_, &palette, &count);
  return count > 0 ? palette[0] : png_color{};
}

int PngReader::orientation() const {
  png_uint_32 size = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(png_, info_, &size, &exif) == 0) return 1;
  return exif_orientation({exif, size});
}

PixelKind kind_of(int colour_type) {
  switch (colour_type) {
    case PNG_COLOR_TYPE_GRAY:
      return PixelKind::grey;
    case PNG_COLOR_TYPE_GRAY_ALPHA:
      return PixelKind::grey_alpha;
    case PNG_COLOR_TYPE_RGB_ALPHA:
      return PixelKind::rgba;
    case PNG_COLOR_TYPE_PALETTE:
      return PixelKind::palette;
    default:
      return PixelKind::rgb;
  }
}

/// Where pixels go: every step-th one. Without a plane for alpha the colour is put over white.
struct Target {
  std::uint8_t* rgb;
  std::uint8_t* alpha;
  int step;
};

void put_pixels(const PngReader& reader, const Source& source, const std::uint8_t* row, int count,
                Target target) {
  const int channels = reader.channels();
  const bool colour = channels >= 3;
  const bool alpha = channels % 2 == 0 && !source.official();
  const bool clipped_grey = reader.bit_depth() == 16;
  const int bytes = clipped_grey ? 2 : channels;
  std::uint8_t* to = target.rgb;
  for (int x = 0; x < count; ++x, row += bytes, to += std::ptrdiff_t{3} * target.step) {
    for (int c = 0; c < 3; ++c) to[c] = row[colour ? c : 0];
    if (clipped_grey && row[0] == 0) std::fill_n(to, 3, row[1]);
    if (clipped_grey && row[0] != 0) std::fill_n(to, 3, std::uint8_t{255});
    if (!alpha) continue;
    if (target.alpha != nullptr)
      target.alpha[std::ptrdiff_t{x} * target.step] = row[channels - 1];
    else
      for (int c = 0; c < 3; ++c) to[c] = over_white(to[c], row[channels - 1]);
  }
}

/// The pixels of one Adam7 pass, or of a picture without interlacing.
struct Pass {
  int left, top, step_x, step_y;
};
constexpr Pass kWhole{0, 0, 1, 1};
constexpr Pass kAdam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                           {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

/// False after a fatal error; the rows before it are in place.
bool read_pass(PngReader& reader, const Source& source, const Pass& pass, Image& image,
               std::uint8_t* alpha) {
  if (image.width <= pass.left) return true;
  const int count = (image.width - pass.left + pass.step_x - 1) / pass.step_x;
  std::vector<std::uint8_t> row(reader.row_bytes());
  for (int y = pass.top; y < image.height; y += pass.step_y) {
    if (!reader.read_row(row.data())) return false;
    const std::ptrdiff_t at = std::ptrdiff_t{y} * image.width + pass.left;
    put_pixels(reader, source, row.data(), count,
               {image.rgb.data() + 3 * at, alpha == nullptr ? nullptr : alpha + at, pass.step_x});
  }
  return true;
}

/// Refuses a file that ends inside a chunk, since libpng takes memory for a whole chunk before it
/// reads it. Official mode uses what there is of pixel data: that chunk is made to end with the
/// file. Returns the mended file, or nothing when the file is whole.
std::vector<std::uint8_t> check_chunks(const Source& source) {
  const std::span<const std::uint8_t> bytes = source.bytes;
  const ByteReader file(bytes, true);
  constexpr std::size_t kHead = 8;  // length and name
  for (std::size_t at = 8; at + 4 <= bytes.size();) {
    const std::size_t length = file.u32(at);
    const bool named = at + kHead <= bytes.size();
    const auto is = [&](const char* name) {
      return named && std::memcmp(bytes.data() + at + 4, name, 4) == 0;
    };
    const std::size_t left = named ? bytes.size() - at - kHead : 0;
    if (is("IEND")) break;
    if (length > left) {
      if (!source.official() || !is("IDAT"))
        fail_damaged(source, kFormat, "the file ends too early");
      std::vector<std::uint8_t> mended(bytes.begin(), bytes.end());
      for (std::size_t i = 0; i < 4; ++i)
        mended[at + i] = static_cast<std::uint8_t>(left >> (8 * (3 - i)));
      return mended;
    }
    at += kHead + length + 4;
  }
  return {};
}

}  // namespace

Image decode_png(const Source& original) {
  Source source = original;
  const std::vector<std::uint8_t> mended = check_chunks(source);
  if (!mended.empty()) source.bytes = mended;
  PngReader reader(source);
  if (!reader.read_header()) fail_damaged(source, kFormat, reader.message());
  check_size(source, kFormat, reader.width(), reader.height());
  // Deflate shrinks to 1/1032 at most, and a byte holds up to 8 pixels.
  check_plausible(source, kFormat, reader.width(), reader.height(), 1032 * 8);
  const png_color colour = reader.first_colour();
  note_kind(source, kind_of(reader.colour_type()));
  if (!reader.start()) fail_damaged(source, kFormat, reader.message());

  Image image = make_image(reader.width(), reader.height());
  if (source.official()) {
    // Missing rows hold 0: black, or the first colour of a palette.
    for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
      image.rgb[i] = colour.red;
      image.rgb[i + 1] = colour.green;
      image.rgb[i + 2] = colour.blue;
    }
  }
  std::uint8_t* alpha = reader.channels() % 2 == 0 ? make_alpha(source, image) : nullptr;
  bool complete = true;
  if (reader.interlaced()) {
    for (const Pass& pass : kAdam7)
      complete = complete && read_pass(reader, source, pass, image, alpha);
  } else {
    complete = read_pass(reader, source, kWhole, image, alpha);
  }
  if (source.official()) return image;
  if (!complete || !reader.finish()) fail_damaged(source, kFormat, reader.message());
  return finish_orientation(source, std::move(image), reader.orientation());
}

}  // namespace ttt::codec
