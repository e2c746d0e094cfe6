// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/training/augment.h"

#include "tests/support/pictures.h"
#include "vision/training/rand_augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ttt::vision {
namespace {

using test::gradient_picture;
using training::Random;

AugmentOptions plain(int size) {
  AugmentOptions options;
  options.preprocess.width = options.preprocess.height = size;
  options.preprocess.crop_percent = 1;
  options.crop = CropRule::none;
  options.flip = options.erase = 0;
  options.rand_augment_ops = 0;
  return options;
}

std::vector<float> augmented(const Image& image, const AugmentOptions& options,
                             std::uint64_t seed) {
  std::vector<float> chw(3 * static_cast<std::size_t>(options.preprocess.width) *
                         static_cast<std::size_t>(options.preprocess.height));
  Random random(seed);
  augment(image, options, random, chw.data());
  return chw;
}

TEST(Augment, DependsOnTheSeedAlone) {
  AugmentOptions options;
  options.preprocess.width = options.preprocess.height = 32;
  const Image image = gradient_picture(50, 40);
  EXPECT_EQ(augmented(image, options, 3), augmented(image, options, 3));
  EXPECT_NE(augmented(image, options, 3), augmented(image, options, 4));
}

TEST(Augment, WithEverythingOffIsTheEvaluation) {
  const AugmentOptions options = plain(24);
  const Image image = gradient_picture(50, 40);
  std::vector<float> expected(3 * 24 * 24);
  normalize(resize_and_crop(image, options.preprocess), options.preprocess, expected.data());
  EXPECT_EQ(augmented(image, options, 1), expected);
}

TEST(Augment, PadAndCropMovesThePictureOverBlack) {
  AugmentOptions options = plain(8);
  options.crop = CropRule::pad_and_crop;
  options.padding = 2;
  const Image image = gradient_picture(8, 8);
  bool moved = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const Image result = augment_pixels(image, options, random);
    // Some shift explains every pixel.
    bool explained = false;
    for (int dy = -2; dy <= 2; ++dy)
      for (int dx = -2; dx <= 2; ++dx) {
        bool fits = true;
        for (int y = 0; y < 8; ++y)
          for (int x = 0; x < 8; ++x)
            for (int c = 0; c < 3; ++c) {
              const bool inside = x + dx >= 0 && x + dx < 8 && y + dy >= 0 && y + dy < 8;
              const int expected = inside ? image.row(y + dy)[3 * (x + dx) + c] : 0;
              fits = fits && result.row(y)[3 * x + c] == expected;
            }
        explained = explained || fits;
        moved = moved || (fits && (dx != 0 || dy != 0));
      }
    EXPECT_TRUE(explained) << seed;
  }
  EXPECT_TRUE(moved);
}

TEST(Augment, FlipMirrorsEachRow) {
  AugmentOptions options = plain(7);
  options.flip = 1;
  const Image image = gradient_picture(7, 7);
  Random random(1);
  const Image result = augment_pixels(image, options, random);
  for (int y = 0; y < 7; ++y)
    for (int x = 0; x < 7; ++x)
      for (int c = 0; c < 3; ++c)
        EXPECT_EQ(result.row(y)[3 * x + c], image.row(y)[3 * (6 - x) + c]);
}

TEST(Augment, RandomResizedCropWorksForEveryShape) {
  AugmentOptions options = plain(16);
  options.crop = CropRule::random_resized;
  for (const auto& [width, height] : {std::pair{1, 1}, {3, 200}, {200, 3}, {64, 48}})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Random random(seed);
      const Image result = augment_pixels(gradient_picture(width, height), options, random);
      EXPECT_EQ(result.width, 16);
      EXPECT_EQ(result.height, 16);
    }
}

TEST(Augment, ErasingFillsOneBoxWithNoise) {
  AugmentOptions options = plain(32);
  const Image image = gradient_picture(32, 32);
  const std::vector<float> before = augmented(image, options, 1);
  options.erase = 1;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const std::vector<float> after = augmented(image, options, seed);
    int left = 32, right = -1, top = 32, bottom = -1, changed = 0;
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x) {
        if (after[static_cast<std::size_t>(32 * y + x)] ==
            before[static_cast<std::size_t>(32 * y + x)])
          continue;
        ++changed;
        left = std::min(left, x), right = std::max(right, x);
        top = std::min(top, y), bottom = std::max(bottom, y);
      }
    const int box = (right - left + 1) * (bottom - top + 1);
    EXPECT_EQ(changed, box);
    EXPECT_GE(box, 0.015 * 32 * 32);
    EXPECT_LE(box, 0.36 * 32 * 32);
  }
}

const RandAugmentOp& operation(std::string_view name) {
  const auto& all = rand_augment_operations();
  return *std::find_if(all.begin(), all.end(), [&](const auto& op) { return op.name == name; });
}

Image applied(std::string_view name, double magnitude, Image image, std::uint64_t seed = 1) {
  Random random(seed);
  operation(name).apply(image, magnitude, {124, 116, 104}, random);
  return image;
}

TEST(RandAugment, TableOperationsHaveTheirDefinitions) {
  Image image{256, 1, {}};
  for (int i = 0; i < 256; ++i)
    for (int c = 0; c < 3; ++c) image.rgb.push_back(static_cast<std::uint8_t>(i));
  const Image inverted = applied("invert", 5, image);
  const Image posterized = applied("posterize", 5, image);      // 4 - int(2) = 2 bits
  const Image solarized = applied("solarize", 5, image);        // from 128 on
  const Image brightened = applied("solarize_add", 10, image);  // 110 added below 128
  for (std::size_t i = 0; i < 256; ++i) {
    const int v = static_cast<int>(i);
    EXPECT_EQ(inverted.rgb[3 * i], 255 - v);
    EXPECT_EQ(posterized.rgb[3 * i], v & 0xC0);
    EXPECT_EQ(solarized.rgb[3 * i], v < 128 ? v : 255 - v);
    EXPECT_EQ(brightened.rgb[3 * i], v < 128 ? std::min(255, v + 110) : v);
  }
}

TEST(RandAugment, PosterizeAtFullStrengthLeavesBlack) {
  const Image result = applied("posterize", 10, gradient_picture(8, 8));
  EXPECT_EQ(std::count(result.rgb.begin(), result.rgb.end(), 0), std::ssize(result.rgb));
}

TEST(RandAugment, AutoContrastStretchesAndEqualizeKeepsConstants) {
  Image image{2, 1, {50, 60, 70, 150, 60, 71}};
  const Image stretched = applied("auto_contrast", 0, image);
  EXPECT_EQ(stretched.rgb, (std::vector<std::uint8_t>{0, 60, 0, 255, 60, 255}));
  const Image flat{4, 4, std::vector<std::uint8_t>(48, 77)};
  EXPECT_EQ(applied("equalize", 0, flat).rgb, flat.rgb);
}

TEST(RandAugment, NoStrengthIsNoChange) {
  const Image image = gradient_picture(16, 12);
  for (const char* name : {"color", "contrast", "brightness", "sharpness", "solarize_add"})
    EXPECT_EQ(applied(name, 0, image).rgb, image.rgb) << name;
  // Bicubic sampling at pixel centres gives the pixels back.
  for (const char* name : {"rotate", "shear_x", "shear_y", "translate_x", "translate_y"})
    EXPECT_EQ(applied(name, 0, image).rgb, image.rgb) << name;
}

TEST(RandAugment, TranslationMovesByAShareOfTheWidthAndFills) {
  const Image image = gradient_picture(20, 20);
  const Image result = applied("translate_x", 10.0 / 9.0, image);  // 5 % of 20: one pixel
  const bool left = result.row(3)[3 * 19] == 124;
  for (int x = 1; x < 19; ++x)
    EXPECT_EQ(result.row(3)[3 * x], image.row(3)[3 * (left ? x + 1 : x - 1)]);
  EXPECT_EQ(result.row(3)[left ? 3 * 19 : 0], 124);
}

TEST(RandAugment, EveryOperationKeepsTheSizeAndIsReproducible) {
  const Image image = gradient_picture(17, 13);
  for (const RandAugmentOp& op : rand_augment_operations())
    for (const double magnitude : {0.0, 4.5, 10.0}) {
      const Image once = applied(op.name, magnitude, image, 8);
      EXPECT_EQ(once.width, 17);
      EXPECT_EQ(once.rgb.size(), image.rgb.size());
      EXPECT_EQ(once.rgb, applied(op.name, magnitude, image, 8).rgb) << op.name;
    }
}

}  // namespace
}  // namespace ttt::vision
