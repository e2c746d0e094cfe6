// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/atomic_file.h"
#include "core/media/encode_png.h"
#include "training/data_order.h"
#include "vision/training/classification_task.h"

#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <cmath>

namespace ttt::vision {
namespace {

constexpr int kBorder = 2;

/// Normalised planes back to an 8-bit picture.
cv::Mat picture_of(const std::vector<float>& chw, const PreprocessOptions& options) {
  cv::Mat picture(options.height, options.width, CV_8UC3);
  for (int y = 0; y < options.height; ++y)
    for (int x = 0; x < options.width; ++x)
      for (int c = 0; c < 3; ++c) {
        const auto channel = static_cast<std::size_t>(c);
        const std::size_t at =
            (channel * static_cast<std::size_t>(options.height) + static_cast<std::size_t>(y)) *
                static_cast<std::size_t>(options.width) +
            static_cast<std::size_t>(x);
        const float value = (chw[at] * options.std[channel] + options.mean[channel]) * 255.0F;
        picture.at<cv::Vec3b>(y, x)[c] =
            static_cast<std::uint8_t>(std::clamp(std::round(value), 0.0F, 255.0F));
      }
  return picture;
}

}  // namespace

void write_preview(const LabelledImages& data, const AugmentOptions& options, std::uint64_t seed,
                   const std::filesystem::path& path, int columns, int rows) {
  const PreprocessOptions& size = options.preprocess;
  const int step_x = size.width + kBorder, step_y = size.height + kBorder;
  cv::Mat sheet(rows * step_y + kBorder, columns * step_x + kBorder, CV_8UC3,
                cv::Scalar(255, 255, 255));
  const std::vector<std::int64_t> order = training::epoch_order(data.size(), seed, 0);
  std::vector<float> chw(3 * static_cast<std::size_t>(size.width) *
                         static_cast<std::size_t>(size.height));
  const int count = static_cast<int>(std::min<std::int64_t>(columns * rows, data.size()));
  for (int i = 0; i < count; ++i) {
    const std::int64_t index = order[static_cast<std::size_t>(i)];
    training::Random random(training::sample_seed(seed, 0, index));
    augment(*data.load(index), options, random, chw.data());
    const cv::Rect place(kBorder + i % columns * step_x, kBorder + i / columns * step_y, size.width,
                         size.height);
    picture_of(chw, size).copyTo(sheet(place));
  }
  const int zoom = std::max(1, 800 / sheet.cols);
  Image picture{sheet.cols * zoom, sheet.rows * zoom, {}};
  picture.rgb.resize(static_cast<std::size_t>(picture.width) *
                     static_cast<std::size_t>(picture.height) * 3);
  cv::Mat zoomed(picture.height, picture.width, CV_8UC3, picture.rgb.data());
  cv::resize(sheet, zoomed, zoomed.size(), 0, 0, cv::INTER_NEAREST);
  write_file(path, encode_png(picture));
}

}  // namespace ttt::vision
