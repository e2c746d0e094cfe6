// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/model/patches.h"

#include "core/error.h"
#include "tests/nvs/model/model_support.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <array>
#include <cmath>

namespace ttt::test {
namespace {

/// The formulas, pixel by pixel: off-centre principal point, fx != fy, a sheared "rotation".
TEST(Patches, ChannelsAndTheirOrder) {
  const std::int64_t height = 6, width = 4, patch = 2;
  const at::Tensor c2w = at::tensor({0.9, 0.2, 0.1, 1.5, -0.1, 1.1, 0.3, -0.5, 0.05, -0.2, 0.8, 2.0,
                                     0.0, 0.0, 0.0, 1.0},
                                    at::kDouble)
                             .view({1, 4, 4});
  const double fx = 3, fy = 4, cx = 1.25, cy = 3.5;
  const nvs::CameraTensors camera{c2w, at::tensor({fx, fy, cx, cy}, at::kDouble).view({1, 4}),
                                  height, width};
  const at::Tensor images = at::rand({1, 3, height, width}, at::kDouble);
  const at::Tensor operand = nvs::patch_operand(camera, images, patch, at::kDouble);
  ASSERT_EQ(operand.sizes(), at::IntArrayRef({1, 6, 48}));
  for (std::int64_t row = 0; row < height; ++row)
    for (std::int64_t column = 0; column < width; ++column) {
      const double x = (static_cast<double>(column) + 0.5 - cx) / fx;
      const double y = (static_cast<double>(row) + 0.5 - cy) / fy;
      std::array<double, 3> d{}, o{};
      double square = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        const auto line = c2w[0][static_cast<std::int64_t>(i)];
        d[i] = line[0].item<double>() * x + line[1].item<double>() * y + line[2].item<double>();
        o[i] = line[3].item<double>();
        square += d[i] * d[i];
      }
      for (double& value : d) value /= std::sqrt(square);
      const at::Tensor pixel = operand[0][row / patch * (width / patch) + column / patch].narrow(
          0, ((row % patch) * patch + column % patch) * 12, 12);
      for (std::size_t i = 0; i < 3; ++i) {
        const auto channel = static_cast<std::int64_t>(i);
        const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
        EXPECT_NEAR(pixel[channel].item<double>(), o[i], 1e-14);
        EXPECT_NEAR(pixel[3 + channel].item<double>(), d[i], 1e-14);
        EXPECT_NEAR(pixel[6 + channel].item<double>(), o[j] * d[k] - o[k] * d[j], 1e-14);
        EXPECT_NEAR(pixel[9 + channel].item<double>(),
                    2 * images[0][channel][row][column].item<double>() - 1, 1e-14);
      }
    }
}

TEST(Patches, BytesAreTheirValuesOver255) {
  const nvs::PosedViews views = random_views(2, 8, 12);
  const at::Tensor bytes = (views.images * 255).round().to(at::kByte);
  const at::Tensor from_bytes = nvs::patch_operand(views.cameras, bytes, 4, at::kFloat);
  const at::Tensor from_values =
      nvs::patch_operand(views.cameras, bytes.to(at::kFloat) / 255, 4, at::kFloat);
  EXPECT_TRUE(at::equal(from_bytes, from_values));
}

TEST(Patches, ColoursSurviveTheWayBack) {
  const nvs::PosedViews views = random_views(3, 8, 12);
  const at::Tensor operand = nvs::patch_operand(views.cameras, views.images, 4, at::kFloat);
  const at::Tensor colours = operand.view({3, 6, 16, 12}).narrow(3, 9, 3).reshape({3, 6, 48});
  EXPECT_LE(max_difference(nvs::unpatchify((colours + 1) / 2, 8, 12, 4), views.images), 1e-6);
}

TEST(Patches, RefusesWhatDoesNotFit) {
  const nvs::PosedViews views = random_views(2, 8, 12);
  EXPECT_THROW(nvs::patch_operand(views.cameras, views.images, 5, at::kFloat), Error);
  EXPECT_THROW(nvs::patch_operand(views.cameras, views.images.narrow(0, 0, 1), 4, at::kFloat),
               Error);
  try {
    nvs::check_picture_size(100, 64, 8);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.hint().find("104x64"), std::string::npos) << error.hint();
  }
  EXPECT_THROW(nvs::check_picture_size(0, 8, 8), Error);
  EXPECT_THROW(nvs::check_picture_size(std::int64_t{1} << 40, 8, 8), Error);
}

}  // namespace
}  // namespace ttt::test
