// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/preprocess.h"

#include "core/error.h"
#include "core/media/decode.h"
#include "tests/core/media/media_files.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace ttt {
namespace {

PreprocessOptions square(int size) {
  PreprocessOptions options;
  options.width = options.height = size;
  return options;
}

void expect_plan(const ResizePlan& plan, int width, int height, PixelRect rect) {
  EXPECT_EQ(plan.width, width);
  EXPECT_EQ(plan.height, height);
  EXPECT_EQ(plan.crop.left, rect.left);
  EXPECT_EQ(plan.crop.top, rect.top);
  EXPECT_EQ(plan.crop.width, rect.width);
  EXPECT_EQ(plan.crop.height, rect.height);
}

TEST(PlanResize, SquaresFollowTheOfficialRule) {
  expect_plan(plan_resize(500, 375, square(224)), 341, 256, {58, 16, 224, 224});
  expect_plan(plan_resize(375, 500, square(384)), 438, 584, {27, 100, 384, 384});
  expect_plan(plan_resize(100, 100, square(64)), 73, 73, {4, 4, 64, 64});
}

TEST(PlanResize, HalfOffsetsGoToTheEvenNeighbour) {
  // Margins of 5 and 7: 2.5 becomes 2 and 3.5 becomes 4.
  PreprocessOptions options = square(100);
  options.crop_percent = 1.0;
  EXPECT_EQ(plan_resize(105, 100, options).crop.left, 2);
  EXPECT_EQ(plan_resize(107, 100, options).crop.left, 4);
  EXPECT_EQ(plan_resize(100, 103, options).crop.top, 2);
}

TEST(PlanResize, OtherShapesAreCovered) {
  PreprocessOptions options;
  options.width = 320;
  options.height = 224;  // covers 365 x 256
  expect_plan(plan_resize(400, 400, options), 365, 365, {22, 70, 320, 224});
  expect_plan(plan_resize(1000, 100, options), 2560, 256, {1120, 16, 320, 224});
  options.rule = ResizeRule::squash;
  expect_plan(plan_resize(1000, 100, options), 320, 224, {0, 0, 320, 224});
  for (int width = 1; width < 60; width += 7)
    for (int height = 1; height < 60; height += 5) {
      options.rule = ResizeRule::cover;
      const ResizePlan plan = plan_resize(width, height, options);
      EXPECT_GE(plan.width, 365);
      EXPECT_GE(plan.height, 256);
      EXPECT_TRUE(plan.width == 365 || plan.height == 256);
    }
}

TEST(PlanResize, OptionsOutOfRangeAreUsageErrors) {
  for (const double percent : {0.0, -1.0, 1.01, std::numeric_limits<double>::quiet_NaN()}) {
    PreprocessOptions options;
    options.crop_percent = percent;
    EXPECT_THROW(plan_resize(10, 10, options), Error) << percent;
  }
  EXPECT_THROW(plan_resize(10, 10, square(0)), Error);
  EXPECT_THROW(plan_resize(10, 10, square(1 << 20)), Error);
  EXPECT_THROW(plan_resize(1'000'000, 1, square(8192)), Error);
}

TEST(ResizeAndCrop, LongThinPicturesCostNoMoreThanTheCrop) {
  Image image{100'000, 1, {}};
  image.rgb.assign(300'000, 77);
  const Image out = resize_and_crop(image, square(224));
  EXPECT_EQ(out.rgb, std::vector<std::uint8_t>(std::size_t{3} * 224 * 224, 77));
}

/// Where the golden pictures lie: made for the set, or photos of the sample folder.
std::filesystem::path golden_picture(const std::string& name) {
  const auto made = test::shared("golden/vision/images/" + name);
  return std::filesystem::exists(made) ? made : test::shared("data/imagenet-samples/" + name);
}

TEST(Golden, PicturesAreDecodedResizedAndCroppedBitExactly) {
  TTT_REQUIRE_SHARED("golden/vision/preprocess/preprocess.json");
  TTT_REQUIRE_SHARED("data/imagenet-samples");
  const nlohmann::json golden =
      test::json_file(test::shared("golden/vision/preprocess/preprocess.json"));
  ASSERT_GT(golden.size(), 20U);
  for (const auto& [name, facts] : golden.items()) {
    SCOPED_TRACE(name);
    const auto path = golden_picture(name);
    const Image image = decode_image(test::file_bytes(path), DecodeMode::official, name);
    EXPECT_EQ(image.width, facts.at("size_wh")[0]);
    EXPECT_EQ(image.height, facts.at("size_wh")[1]);
    EXPECT_EQ(test::sha256_of(image), facts.at("decoded_rgb_sha256"));
    const ResizePlan plan = plan_resize(image.width, image.height, square(224));
    EXPECT_EQ(plan.width, facts.at("resized_wh_224")[0]);
    EXPECT_EQ(plan.height, facts.at("resized_wh_224")[1]);
    EXPECT_EQ(plan.crop.left, facts.at("crop_left_top_224")[0]);
    EXPECT_EQ(plan.crop.top, facts.at("crop_left_top_224")[1]);
    EXPECT_EQ(test::sha256_of(resize(image, plan.width, plan.height, ResizeFilter::bicubic)),
              facts.at("resized_rgb_sha256_224"));
    EXPECT_EQ(test::sha256_of(resize_and_crop(image, square(224))), facts.at("crop224_sha256"));
    const ResizePlan small = plan_resize(image.width, image.height, square(64));
    EXPECT_EQ(small.width, facts.at("resized_wh_64")[0]);
    EXPECT_EQ(small.height, facts.at("resized_wh_64")[1]);
  }
}

TEST(Golden, NormalizedValuesAreBitEqual) {
  TTT_REQUIRE_SHARED("golden/vision/preprocess/n04465501_tractor.safetensors");
  TTT_REQUIRE_SHARED("data/imagenet-samples/n04465501_tractor.JPEG");
  const auto file = test::shared("golden/vision/preprocess/n04465501_tractor.safetensors");
  const Image image = decode_image(test::file_bytes(golden_picture("n04465501_tractor.JPEG")),
                                   DecodeMode::official, "tractor");
  const Image small = resize_and_crop(image, square(64));
  EXPECT_EQ(small.rgb, test::tensor_bytes(file, "crop64"));
  std::vector<std::uint8_t> bytes(std::size_t{4} * 3 * 64 * 64);
  std::vector<float> values(std::size_t{3} * 64 * 64);
  normalize(small, square(64), values.data());
  std::memcpy(bytes.data(), values.data(), bytes.size());
  EXPECT_EQ(bytes, test::tensor_bytes(file, "normalized64"));
}

}  // namespace
}  // namespace ttt
