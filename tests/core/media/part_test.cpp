// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// A part of a picture must have the pixels, and a damaged file the errors, of the whole.
#include "core/media/part.h"

#include "core/error.h"
#include "core/media/orientation.h"
#include "tests/core/media/media_files.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <cstdlib>
#include <random>

// clang-format off
#include <jpeglib.h>  // wants <cstdio> before it
// clang-format on

namespace ttt {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937;

int between(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

struct JpegKind {
  int channels = 3;                  ///< 1 grey, 3 colour, 4 inks
  int horizontal = 1, vertical = 1;  ///< how many times more samples luma has than chroma
  bool progressive = false;
  bool arithmetic = false;
  int restart_rows = 0;
  int orientation = 1;
};

std::ostream& operator<<(std::ostream& out, const JpegKind& kind) {
  return out << kind.channels << " channels, " << kind.horizontal << "x" << kind.vertical
             << (kind.progressive ? ", progressive" : "") << (kind.arithmetic ? ", arithmetic" : "")
             << ", restarts " << kind.restart_rows << ", orientation " << kind.orientation;
}

void write_orientation(jpeg_compress_struct& info, int orientation) {
  const Bytes exif{'E', 'x',  'i', 'f', 0,
                   0,   'I',  'I', 42,  0,
                   8,   0,    0,   0,   1,
                   0,   0x12, 1,   3,   0,
                   1,   0,    0,   0,   static_cast<std::uint8_t>(orientation),
                   0,   0,    0,   0,   0,
                   0,   0};
  jpeg_write_marker(&info, JPEG_APP0 + 1, exif.data(), static_cast<unsigned>(exif.size()));
}

/// A picture of noise over soft shapes: neighbours differ everywhere.
Bytes make_jpeg(int width, int height, const JpegKind& kind, Random& random) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &data, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = kind.channels;
  info.in_color_space = kind.channels == 1   ? JCS_GRAYSCALE
                        : kind.channels == 3 ? JCS_RGB
                                             : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, between(random, 30, 98), TRUE);
  if (kind.progressive) jpeg_simple_progression(&info);
  info.arith_code = kind.arithmetic ? TRUE : FALSE;
  info.restart_in_rows = kind.restart_rows;
  info.comp_info[0].h_samp_factor = kind.horizontal;
  info.comp_info[0].v_samp_factor = kind.vertical;
  jpeg_start_compress(&info, TRUE);
  if (kind.orientation != 1) write_orientation(info, kind.orientation);
  Bytes row(static_cast<std::size_t>(width * kind.channels));
  for (int y = 0; y < height; ++y) {
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] = static_cast<std::uint8_t>(i * 3 + static_cast<std::size_t>(y * 7) +
                                         static_cast<std::size_t>(between(random, 0, 90)));
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Bytes bytes(data, data + size);
  std::free(data);
  return bytes;
}

std::vector<JpegKind> kinds() {
  std::vector<JpegKind> all{{.channels = 1},
                            {.channels = 4},
                            {.channels = 3, .horizontal = 2, .vertical = 2, .progressive = true},
                            {.channels = 3, .horizontal = 2, .vertical = 2, .arithmetic = true},
                            {.channels = 3, .horizontal = 2, .vertical = 1, .restart_rows = 1}};
  for (const auto& [horizontal, vertical] :
       {std::pair{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}})
    all.push_back({.horizontal = horizontal, .vertical = vertical});
  for (int orientation = 2; orientation <= 8; ++orientation)
    all.push_back({.horizontal = 2, .vertical = 2, .orientation = orientation});
  return all;
}

PixelRect random_rect(Random& random, int width, int height) {
  const int left = between(random, 0, width - 1);
  const int top = between(random, 0, height - 1);
  return {left, top, between(random, 1, width - left), between(random, 1, height - top)};
}

/// What becomes of a file: its pixels in a rectangle that the size decides, or the error's text.
struct Result {
  Bytes pixels;
  std::string error;
};

PixelRect middle(int width, int height) {
  return {width / 3, height / 4, (width + 2) / 3, (height + 1) / 2};
}

Result whole_then_crop(const Bytes& bytes, DecodeMode mode) {
  try {
    const Image image = decode_image(bytes, mode, "a.jpg");
    return {crop(image, middle(image.width, image.height)).rgb, {}};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

Image take(const ImagePart& part, PixelRect rect) {
  return crop(part.pixels, {rect.left - part.left, rect.top - part.top, rect.width, rect.height});
}

Result part_alone(const Bytes& bytes, DecodeMode mode) {
  try {
    const ImagePart part = decode_image_part(bytes, mode, "a.jpg", middle);
    return {take(part, middle(part.whole_width, part.whole_height)).rgb, {}};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

class Part : public testing::TestWithParam<JpegKind> {};

TEST_P(Part, HasThePixelsOfTheWhole) {
  Random random(7);
  for (int i = 0; i < 40; ++i) {
    const int width = between(random, 1, i % 2 == 0 ? 60 : 260);
    const int height = between(random, 1, 70);
    const Bytes bytes = make_jpeg(width, height, GetParam(), random);
    for (const DecodeMode mode : {DecodeMode::photo, DecodeMode::official}) {
      const Image whole = decode_image(bytes, mode, "whole");
      const PixelRect rect = random_rect(random, whole.width, whole.height);
      const ImagePart part = decode_image_part(bytes, mode, "part", [&](int w, int h) {
        EXPECT_EQ(w, whole.width);
        EXPECT_EQ(h, whole.height);
        return rect;
      });
      EXPECT_EQ(part.whole_width, whole.width);
      EXPECT_EQ(part.whole_height, whole.height);
      ASSERT_EQ(take(part, rect).rgb, crop(whole, rect).rgb)
          << width << "x" << height << ", " << rect.width << "x" << rect.height << " at "
          << rect.left << "," << rect.top;
    }
  }
}

TEST_P(Part, IsPreProcessedLikeTheWhole) {
  Random random(11);
  for (int i = 0; i < 20; ++i) {
    const Bytes bytes =
        make_jpeg(between(random, 1, 200), between(random, 1, 200), GetParam(), random);
    PreprocessOptions options;
    options.width = between(random, 1, 60);
    options.height = between(random, 1, 60);
    options.crop_percent = between(random, 20, 100) / 100.0;
    options.rule = i % 5 == 0 ? ResizeRule::squash : ResizeRule::cover;
    options.filter = static_cast<ResizeFilter>(i % 4);
    const auto needed = [&](int w, int h) { return preprocess_source(w, h, options); };
    const ImagePart part = decode_image_part(bytes, DecodeMode::photo, "part", needed);
    const Image whole = decode_image(bytes, DecodeMode::photo, "whole");
    ASSERT_EQ(resize_and_crop(part, options).rgb, resize_and_crop(whole, options).rgb) << i;
  }
}

TEST_P(Part, OfADamagedFileEndsAsTheWholeDoes) {
  Random random(3);
  const Bytes intact = make_jpeg(150, 60, GetParam(), random);
  int failed = 0;
  for (int i = 0; i < 150; ++i) {
    Bytes bytes = intact;
    if (i % 3 == 0)
      bytes.resize(static_cast<std::size_t>(between(random, 2, 1 << 20)) % bytes.size());
    for (int k = between(random, i % 3 == 0 ? 0 : 1, 3); k > 0 && !bytes.empty(); --k)
      bytes[static_cast<std::size_t>(random()) % bytes.size()] =
          static_cast<std::uint8_t>(random());
    for (const DecodeMode mode : {DecodeMode::photo, DecodeMode::official}) {
      const Result whole = whole_then_crop(bytes, mode);
      const Result part = part_alone(bytes, mode);
      ASSERT_EQ(part.error, whole.error) << i;
      ASSERT_EQ(part.pixels, whole.pixels) << i;
      failed += whole.error.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(failed, 30);
}

INSTANTIATE_TEST_SUITE_P(Jpeg, Part, testing::ValuesIn(kinds()));

TEST(PartOfAPicture, LeavesOutColumnsOfAJpeg) {
  Random random(1);
  const Bytes bytes = make_jpeg(400, 50, {.horizontal = 2, .vertical = 2}, random);
  const ImagePart part = decode_image_part(bytes, DecodeMode::photo, "part", [](int, int) {
    return PixelRect{200, 20, 10, 10};
  });
  EXPECT_LT(part.pixels.width, 80);
  EXPECT_EQ(part.pixels.height, 10);
}

TEST(PartOfAPicture, IsTheWholeForOtherFormats) {
  for (const auto& path : test::data_files()) {
    const Bytes bytes = test::file_bytes(path);
    Image whole;
    try {
      whole = decode_image(bytes, DecodeMode::photo, "whole");
    } catch (const Error&) {
      continue;
    }
    const ImagePart part = decode_image_part(bytes, DecodeMode::photo, "part", middle);
    const PixelRect rect = middle(whole.width, whole.height);
    EXPECT_EQ(take(part, rect).rgb, crop(whole, rect).rgb) << path;
  }
}

TEST(PartOfAPicture, ErrorsOfTheCallerPassThrough) {
  Random random(1);
  const Bytes bytes = make_jpeg(40, 30, {}, random);
  EXPECT_THROW(decode_image_part(bytes, DecodeMode::photo, "part",
                                 [](int, int) -> PixelRect { throw std::runtime_error("no"); }),
               std::runtime_error);
}

TEST(PartOfAPicture, WithoutThePixelsThatAreNeededIsNotResized) {
  ImagePart part{.left = 10, .top = 0, .whole_width = 100, .whole_height = 50};
  part.pixels = {50, 50, Bytes(std::size_t{3} * 50 * 50)};
  EXPECT_NO_THROW(resize_window(part, 50, 25, {10, 0, 5, 5}, ResizeFilter::bicubic));
  EXPECT_THROW(resize_window(part, 50, 25, {0, 0, 10, 5}, ResizeFilter::bicubic), Error);
  EXPECT_THROW(resize_window(part, 50, 25, {28, 0, 5, 5}, ResizeFilter::bicubic), Error);
}

TEST(Orientation, RectanglesTurnWithThePicture) {
  Random random(5);
  Image stored{7, 5, {}};
  for (int i = 0; i < 3 * 7 * 5; ++i) stored.rgb.push_back(static_cast<std::uint8_t>(i));
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image upright = apply_orientation(stored, orientation);
    const PixelRect rect = random_rect(random, stored.width, stored.height);
    const PixelRect turned = rect_after_orientation(rect, orientation, 7, 5);
    EXPECT_EQ(crop(upright, turned).rgb, apply_orientation(crop(stored, rect), orientation).rgb);
    const PixelRect back = rect_before_orientation(turned, orientation, 7, 5);
    EXPECT_EQ(crop(stored, back).rgb, crop(stored, rect).rgb) << orientation;
  }
}

}  // namespace
}  // namespace ttt
