// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/resample_passes.h"

#include <gtest/gtest.h>

#include <random>

namespace ttt::resample {
namespace {

using Random = std::mt19937;

int between(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

/// Noise, and now and then nothing but extremes, which overshoot and are clipped.
Image make_picture(int width, int height, Random& random) {
  Image image{width, height, {}};
  const bool extremes = between(random, 0, 2) == 0;
  for (int i = 0; i < 3 * width * height; ++i) {
    const int value = between(random, 0, 255);
    image.rgb.push_back(static_cast<std::uint8_t>(extremes ? value / 128 * 255 : value));
  }
  return image;
}

Axis random_axis(int in_size, Random& random) {
  const int out_size = between(random, 1, 90);
  const int begin = between(random, 0, out_size - 1);
  return make_axis(in_size, out_size, begin, between(random, 1, out_size - begin),
                   static_cast<ResizeFilter>(between(random, 0, 3)));
}

TEST(ResamplePasses, AllGiveTheSamePixels) {
  Random random(17);
  const Passes& portable = supported_passes().back();
  EXPECT_EQ(portable.name, "portable");
  for (int i = 0; i < 600; ++i) {
    const int width = between(random, 1, i % 3 == 0 ? 7 : 130);
    const int height = between(random, 1, i % 3 == 1 ? 7 : 60);
    const Image image = make_picture(width, height, random);
    const int first = between(random, 0, height - 1);
    const int rows = between(random, 1, height - first);
    const Axis across = random_axis(width, random);
    const Axis down = random_axis(height, random);
    for (const Passes& passes : supported_passes()) {
      ASSERT_EQ(passes.horizontal(image, first, rows, across).rgb,
                portable.horizontal(image, first, rows, across).rgb)
          << passes.name << " " << width << "x" << height << ", rows " << first << "+" << rows;
      ASSERT_EQ(passes.vertical(image, 0, down).rgb, portable.vertical(image, 0, down).rgb)
          << passes.name << " " << width << "x" << height;
    }
  }
}

TEST(ResamplePasses, ThousandsOfTapsAddUp) {
  Random random(2);
  const Image wide = make_picture(20'000, 3, random);
  const Image high = make_picture(3, 20'000, random);
  const Axis axis = make_axis(20'000, 2, 0, 2, ResizeFilter::lanczos3);
  const Passes& portable = supported_passes().back();
  for (const Passes& passes : supported_passes()) {
    EXPECT_EQ(passes.horizontal(wide, 0, 3, axis).rgb, portable.horizontal(wide, 0, 3, axis).rgb);
    EXPECT_EQ(passes.vertical(high, 0, axis).rgb, portable.vertical(high, 0, axis).rgb);
  }
}

}  // namespace
}  // namespace ttt::resample
