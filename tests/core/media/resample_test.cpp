// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/resample.h"

#include "core/error.h"
#include "tests/core/media/media_files.h"

#include <gtest/gtest.h>

namespace ttt {
namespace {

Image pattern(int width, int height) {
  Image image{width, height, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        image.rgb.push_back(static_cast<std::uint8_t>((x * x * 3 + y * 11 + c * 71 + x * y) % 256));
  return image;
}

TEST(Resample, IsBitExactWithPillowForOddSizesAndAllFilters) {
  constexpr ResizeFilter kFilters[] = {ResizeFilter::box, ResizeFilter::bilinear,
                                       ResizeFilter::bicubic, ResizeFilter::lanczos3};
  const nlohmann::json cases = test::json_file(test::data_folder() / "resizes.json");
  ASSERT_GT(cases.size(), 20U);
  for (const nlohmann::json& row : cases) {
    const Image image = pattern(row[0], row[1]);
    const Image resized = resize(image, row[2], row[3], kFilters[row[4].get<int>()]);
    EXPECT_EQ(test::sha256_of(resized), row[5]) << row;
  }
}

TEST(Resample, AWindowHasThePixelsOfTheWhole) {
  const Image image = pattern(53, 41);
  for (const auto& [width, height] : {std::pair{20, 90}, {53, 17}, {120, 41}, {7, 5}}) {
    const Image whole = resize(image, width, height, ResizeFilter::bicubic);
    for (const PixelRect window : {PixelRect{0, 0, 1, 1},
                                   {width - 2, height - 3, 2, 3},
                                   {1, 2, 3, 2},
                                   {width / 2, 0, 1, height}}) {
      EXPECT_EQ(resize_window(image, width, height, window, ResizeFilter::bicubic).rgb,
                crop(whole, window).rgb);
    }
  }
}

TEST(Resample, ASideThatKeepsItsLengthIsNotFiltered) {
  const Image image = pattern(31, 17);
  EXPECT_EQ(resize(image, 31, 17, ResizeFilter::lanczos3).rgb, image.rgb);
}

TEST(Resample, AbsurdTargetsAreRefused) {
  const Image image = pattern(3, 3);
  EXPECT_THROW(resize(image, 1 << 20, 1 << 20, ResizeFilter::bicubic), Error);
  EXPECT_THROW(resize(image, 0, 5, ResizeFilter::bicubic), Error);
  EXPECT_THROW(resize(image, 5, -1, ResizeFilter::bicubic), Error);
}

}  // namespace
}  // namespace ttt
