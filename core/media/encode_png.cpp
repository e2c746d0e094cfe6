// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/encode_png.h"

#include "core/error.h"
#include "core/media/codec.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <new>
#include <png.h>
#include <vector>

namespace ttt {
namespace {

/// A compressor into memory. write() returns false after a fatal error.
class PngEncoder {
 public:
  PngEncoder() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error,
                                   [](png_structp, png_const_charp) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_write_struct(&png_, nullptr);
      throw std::bad_alloc();
    }
    png_set_write_fn(png_, this, on_write, [](png_structp) {});
  }
  ~PngEncoder() { png_destroy_write_struct(&png_, &info_); }
  PngEncoder(const PngEncoder&) = delete;
  PngEncoder& operator=(const PngEncoder&) = delete;

  bool write(const Image& image, std::vector<png_text>& texts) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(image.width),
                 static_cast<png_uint_32>(image.height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (!texts.empty()) png_set_text(png_, info_, texts.data(), static_cast<int>(texts.size()));
    png_write_info(png_, info_);
    for (int y = 0; y < image.height; ++y) png_write_row(png_, image.row(y));
    png_write_end(png_, info_);
    return true;
  }
  const char* message() const { return message_; }
  std::string take() { return std::move(bytes_); }

 private:
  static void on_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngEncoder*>(png_get_error_ptr(png));
    std::strncpy(self->message_, message, sizeof self->message_ - 1);
    png_longjmp(png, 1);
  }
  static void on_write(png_structp png, png_bytep bytes, std::size_t count) {
    auto* self = static_cast<PngEncoder*>(png_get_io_ptr(png));
    try {
      self->bytes_.append(reinterpret_cast<const char*>(bytes), count);
      return;
    } catch (const std::bad_alloc&) {
    }
    png_error(png, "out of memory");  // outside of the handler: it jumps
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::string bytes_;
  char message_[200] = {};
};

}  // namespace

std::string encode_png(const Image& image, std::span<const PngText> texts) {
  TTT_CHECK(image.width > 0 && image.height > 0, internal, "an empty picture can't be written");
  std::vector<png_text> chunks;
  for (const auto& [key, text] : texts) {
    png_text chunk{};
    chunk.compression = PNG_ITXT_COMPRESSION_NONE;
    // libpng doesn't change these strings.
    chunk.key = const_cast<char*>(key.c_str());
    chunk.text = const_cast<char*>(text.c_str());
    chunk.itxt_length = text.size();
    chunks.push_back(chunk);
  }
  PngEncoder encoder;
  TTT_CHECK(encoder.write(image, chunks), memory,
            std::string("the picture can't be encoded: ") + encoder.message());
  return encoder.take();
}

std::vector<PngText> png_texts(std::span<const std::uint8_t> bytes) {
  std::vector<PngText> texts;
  const codec::ByteReader file(bytes, true);
  constexpr std::size_t kSignature = 8, kHead = 8, kChecksum = 4;
  for (std::size_t at = kSignature; file.u32(at) <= bytes.size();) {
    const std::size_t length = file.u32(at);
    if (!file.ok() || at + kHead + length > bytes.size()) break;
    const auto chunk = bytes.subspan(at + kHead, length);
    const bool is_text = std::memcmp(bytes.data() + at + 4, "iTXt", 4) == 0;
    at += kHead + length + kChecksum;
    if (!is_text) continue;
    // Keyword, 0, compression flag and method, language, 0, translated keyword, 0, text.
    std::array<std::size_t, 3> ends{};
    std::size_t from = 0;
    for (std::size_t& end : ends) {
      const auto zero =
          std::find(chunk.begin() + static_cast<std::ptrdiff_t>(std::min(from, length)),
                    chunk.end(), std::uint8_t{0});
      end = static_cast<std::size_t>(zero - chunk.begin());
      from = end + (&end == ends.data() ? 3 : 1);
    }
    const bool compressed = ends[0] + 1 < length && chunk[ends[0] + 1] != 0;
    if (ends[2] >= length || compressed) continue;
    const char* text = reinterpret_cast<const char*>(chunk.data());
    texts.emplace_back(std::string(text, ends[0]),
                       std::string(text + ends[2] + 1, length - ends[2] - 1));
  }
  return texts;
}

}  // namespace ttt
