// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/contact_sheet.h"

#include "core/error.h"
#include "core/media/drawing.h"

#include <opencv2/imgproc.hpp>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

namespace ttt::vision {
namespace {

constexpr int kPicture = 160;  // side of the square that a picture is fitted into
constexpr int kGap = 10;
constexpr int kLine = 18;
constexpr double kAspect = 1.5;  // of the sheet, about
constexpr int kMaxColumns = 20;

const cv::Scalar kGrey(225, 225, 225), kBar(190, 215, 245), kGreen(40, 160, 70), kRed(215, 50, 50);

/// A class name at the left, its probability at the right, over a bar as long as the probability.
void draw_score(cv::Mat& sheet, const std::pair<std::string, double>& score, cv::Point corner) {
  const double part = std::clamp(score.second, 0.0, 1.0);
  cv::rectangle(sheet, {corner.x, corner.y, static_cast<int>(std::lround(part * kPicture)), kLine},
                kBar, cv::FILLED);
  const std::string percent = fmt::format("{:.1f}%", 100 * score.second);
  const int width = drawing::text_width(percent);
  drawing::draw_text(sheet, drawing::fitted(score.first, kPicture - width - 8),
                     {corner.x + 2, corner.y + 13});
  drawing::draw_text(sheet, percent, {corner.x + kPicture - width - 2, corner.y + 13});
}

Image thumbnail_of(const Image& picture) {
  const int side = std::max(picture.width, picture.height);
  const auto fit = [&](int length) {
    return std::max(1,
                    static_cast<int>(std::lround(static_cast<double>(length) * kPicture / side)));
  };
  return drawing::scaled(picture, fit(picture.width), fit(picture.height));
}

}  // namespace

void ContactSheet::add(const Image& picture, SheetCaption caption) {
  TTT_CHECK(picture.width > 0 && picture.height > 0, internal, "a picture without pixels",
            caption.title);
  if (!full()) tiles_.push_back({thumbnail_of(picture), std::move(caption), {}});
}

void ContactSheet::add_missing(const std::string& title, const std::string& reason) {
  if (!full()) tiles_.push_back({{}, {.title = title, .scores = {}, .right = {}}, reason});
}

Image ContactSheet::draw() const {
  const int count = std::max(1, static_cast<int>(tiles_.size()));
  std::size_t lines = 1;
  for (const Tile& tile : tiles_)
    lines = std::max(lines, 1 + std::min(tile.caption.scores.size(), kScores));
  const int tile_height = kPicture + kLine * static_cast<int>(lines) + 4;
  const double ideal = std::sqrt(count * kAspect * tile_height / kPicture);
  const int columns =
      std::clamp(static_cast<int>(std::lround(ideal)), 1, std::min(count, kMaxColumns));
  const int rows = (count + columns - 1) / columns;
  Image result =
      drawing::blank(columns * (kPicture + kGap) + kGap, rows * (tile_height + kGap) + kGap);
  cv::Mat sheet = drawing::canvas_of(result);
  for (int i = 0; i < static_cast<int>(tiles_.size()); ++i) {
    const Tile& tile = tiles_[static_cast<std::size_t>(i)];
    const cv::Point corner(kGap + i % columns * (kPicture + kGap),
                           kGap + i / columns * (tile_height + kGap));
    const cv::Rect frame(corner.x, corner.y, kPicture, kPicture);
    cv::rectangle(sheet, frame, kGrey, cv::FILLED);
    if (tile.thumbnail.rgb.empty()) {
      drawing::draw_text(sheet, drawing::fitted(tile.reason, kPicture - 8),
                         {corner.x + 4, corner.y + kPicture / 2});
    } else {
      const Image& small = tile.thumbnail;
      drawing::draw_picture(
          sheet, small,
          corner + cv::Point((kPicture - small.width) / 2, (kPicture - small.height) / 2));
    }
    if (tile.caption.right) cv::rectangle(sheet, frame, *tile.caption.right ? kGreen : kRed, 3);
    drawing::draw_text(sheet, drawing::fitted(tile.caption.title, kPicture),
                       {corner.x, corner.y + kPicture + 14});
    for (std::size_t s = 0; s < std::min(tile.caption.scores.size(), kScores); ++s)
      draw_score(sheet, tile.caption.scores[s],
                 {corner.x, corner.y + kPicture + kLine * (1 + static_cast<int>(s)) + 2});
  }
  return result;
}

}  // namespace ttt::vision
