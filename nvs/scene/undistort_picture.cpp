// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/media/alpha.h"
#include "nvs/scene/views.h"

#include <opencv2/imgproc.hpp>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ttt::nvs {
namespace {

/// OpenCV's fixed-point maps: whole positions, and 5 bits of fraction a side.
struct Maps {
  cv::Mat positions;  // CV_16SC2
  cv::Mat fractions;  // CV_16UC1
};

int fixed_point(double position) {
  constexpr double kScale = 32;
  // Far outside is outside; the cast of more would be undefined.
  constexpr double kFar = 1 << 20;
  if (!std::isfinite(position)) return -static_cast<int>(kFar);
  return static_cast<int>(std::lrint(std::clamp(position * kScale, -kFar, kFar)));
}

Maps make_maps(const Distortion& lens, const UndistortPlan& plan, int width, int height,
               double shift) {
  Maps maps{cv::Mat(height, width, CV_16SC2), cv::Mat(height, width, CV_16UC1)};
  const Intrinsics& from = plan.source;
  const Intrinsics& to = plan.undistorted;
  const auto whole = [](int fixed) {
    return static_cast<short>(std::clamp(fixed >> 5, -32768, 32767));
  };
  for (int v = 0; v < height; ++v)
    for (int u = 0; u < width; ++u) {
      const ImagePoint ideal{(u - (to.cx - shift)) / to.fx, (v - (to.cy - shift)) / to.fy};
      const ImagePoint seen = distort(lens, ideal);
      const int x = fixed_point(from.fx * seen.x + (from.cx - shift));
      const int y = fixed_point(from.fy * seen.y + (from.cy - shift));
      maps.positions.at<cv::Vec2s>(v, u) = {whole(x), whole(y)};
      maps.fractions.at<std::uint16_t>(v, u) = static_cast<std::uint16_t>((y & 31) * 32 + (x & 31));
    }
  return maps;
}

Image remap(const Image& image, const Maps& maps) {
  Image out{image.width, image.height, {}};
  out.rgb.resize(image.rgb.size());
  const cv::Mat from(image.height, image.width, CV_8UC3, const_cast<std::uint8_t*>(image.row(0)));
  cv::Mat to(out.height, out.width, CV_8UC3, out.row(0));
  cv::remap(from, to, maps.positions, maps.fractions, cv::INTER_LINEAR, cv::BORDER_CONSTANT, {});
  return out;
}

}  // namespace

AlphaImage undistort_picture(const AlphaImage& picture, const Distortion& lens,
                             const UndistortPlan& plan, bool reference_compat) {
  const int width = picture.colour.width;
  const int height = picture.colour.height;
  constexpr int kMaxSide = 32767;  // the maps hold 16 bits
  TTT_CHECK(width <= kMaxSide && height <= kMaxSide, unsupported,
            fmt::format("a picture of {}x{} is too large to undistort", width, height), {},
            "scale the pictures down, or undistort them with colmap image_undistorter");
  const Maps maps = make_maps(lens, plan, width, height, reference_compat ? 0.0 : 0.5);
  if (picture.alpha.empty()) return {remap(picture.colour, maps), {}};
  AlphaImage multiplied = picture;
  premultiply(multiplied);
  AlphaImage out{remap(multiplied.colour, maps),
                 grey_as_alpha(remap(alpha_as_grey(picture), maps))};
  unpremultiply(out);
  return out;
}

}  // namespace ttt::nvs
