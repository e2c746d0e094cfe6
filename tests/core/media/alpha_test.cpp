// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/alpha.h"

#include "core/error.h"
#include "core/media/decode.h"
#include "core/media/encode_jpeg.h"
#include "core/media/encode_png.h"
#include "tests/core/media/media_files.h"
#include "tests/support/pictures.h"

#include <gtest/gtest.h>

namespace ttt {
namespace {

TEST(StoredImage, GivesTheSamePictureOverWhite) {
  // Whatever the format: alpha kept apart and put over white later is alpha put over white at once.
  int with_alpha = 0;
  for (const auto& path : test::data_files()) {
    const std::vector<std::uint8_t> bytes = test::file_bytes(path);
    Image expected;
    try {
      expected = decode_image(bytes, DecodeMode::photo, path.string());
    } catch (const Error&) {
      EXPECT_THROW(decode_stored_image(bytes, path.string()), Error) << path;
      continue;
    }
    StoredImage stored = decode_stored_image(bytes, path.string());
    const bool alpha = !stored.picture.alpha.empty();
    with_alpha += alpha ? 1 : 0;
    const PictureSize size = picture_size(bytes, path.string());
    EXPECT_EQ(size.width, stored.picture.colour.width) << path;
    EXPECT_EQ(size.height, stored.picture.colour.height) << path;
    const Image upright =
        over_white(apply_orientation(std::move(stored.picture), stored.orientation));
    ASSERT_EQ(upright.rgb.size(), expected.rgb.size()) << path;
    EXPECT_EQ(upright.width, expected.width) << path;
    // TIFFs with premultiplied alpha lose a level on the way.
    int worst = 0;
    for (std::size_t i = 0; i < expected.rgb.size(); ++i)
      worst = std::max(worst, std::abs(int{upright.rgb[i]} - int{expected.rgb[i]}));
    EXPECT_LE(worst, alpha && path.extension().string().starts_with(".tif") ? 2 : 0) << path;
  }
  EXPECT_GE(with_alpha, 3);
}

TEST(EncodePng, ComesBackWithItsTexts) {
  const Image image = test::gradient_picture(37, 21);
  const std::vector<PngText> texts{{"parameters", "seed 7, Größe 37x21"}};
  const std::string file = encode_png(image, texts);
  const std::vector<std::uint8_t> bytes(file.begin(), file.end());
  const Image back = decode_image(bytes, DecodeMode::photo, "png");
  EXPECT_EQ(back.rgb, image.rgb);
  EXPECT_EQ(png_texts(bytes), texts);
  for (std::size_t length = 0; length < 200; ++length)
    EXPECT_LE(png_texts(std::span(bytes).first(length)).size(), 1U);
  std::vector<std::uint8_t> zeros = bytes;
  std::fill(zeros.begin() + 41, zeros.end(), std::uint8_t{0});
  EXPECT_LE(png_texts(zeros).size(), 1U);
  EXPECT_THROW(encode_png({}), Error);
}

TEST(EncodeJpeg, IsCloseToThePictureAndCloserWithQuality) {
  const Image image = test::gradient_picture(37, 21);
  const auto error = [&](int quality) {
    const std::string file = encode_jpeg(image, quality);
    const Image back =
        decode_image(std::vector<std::uint8_t>(file.begin(), file.end()), DecodeMode::photo, "j");
    EXPECT_EQ(back.width, 37);
    EXPECT_EQ(back.height, 21);
    double sum = 0;
    for (std::size_t i = 0; i < image.rgb.size(); ++i)
      sum += std::abs(int{back.rgb[i]} - int{image.rgb[i]});
    return sum / static_cast<double>(image.rgb.size());
  };
  EXPECT_LT(error(95), 2);
  EXPECT_LT(error(95), error(10));
  EXPECT_THROW(encode_jpeg({}, 85), Error);
}

TEST(ResizeWithAlpha, HiddenColoursDontBleed) {
  // A red pixel beside an invisible green one.
  AlphaImage image;
  image.colour = {2, 1, {255, 0, 0, 0, 255, 0}};
  image.alpha = {255, 0};
  const AlphaImage out = resize_window(image, 1, 1, {0, 0, 1, 1}, ResizeFilter::lanczos3);
  EXPECT_EQ(out.colour.rgb, (std::vector<std::uint8_t>{255, 0, 0}));
  EXPECT_NEAR(out.alpha[0], 128, 1);
}

}  // namespace
}  // namespace ttt
