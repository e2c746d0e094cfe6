// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/drawing.h"

#include <opencv2/imgproc.hpp>

namespace ttt::drawing {
namespace {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;

/// OpenCV's fonts know ASCII only; a character of more bytes is one "?".
std::string drawable(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) == 0x80U) continue;  // the rest of a UTF-8 character
    result += byte >= 0x20 && byte < 0x7F ? c : '?';
  }
  return result;
}

/// OpenCV has no Mat over const memory; this one is only read.
cv::Mat read_only(const Image& image) {
  return {image.height, image.width, CV_8UC3, const_cast<std::uint8_t*>(image.rgb.data())};
}

}  // namespace

Image blank(int width, int height) {
  Image image{width, height, {}};
  image.rgb.assign(
      std::size_t{3} * static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 255);
  return image;
}

cv::Mat canvas_of(Image& image) {
  return {image.height, image.width, CV_8UC3, image.rgb.data()};
}

int text_width(std::string_view text, double size) {
  int baseline = 0;
  return cv::getTextSize(drawable(text), kFont, size, 1, &baseline).width;
}

std::string fitted(std::string_view text, int width, Keep keep, double size) {
  std::string rest = drawable(text);
  if (text_width(rest, size) <= width) return rest;
  const auto dotted = [&] { return keep == Keep::beginning ? rest + ".." : ".." + rest; };
  while (!rest.empty() && text_width(dotted(), size) > width) {
    if (keep == Keep::beginning)
      rest.pop_back();
    else
      rest.erase(0, 1);
  }
  return dotted();
}

void draw_text(cv::Mat& canvas, std::string_view text, cv::Point at, const cv::Scalar& colour,
               double size) {
  cv::putText(canvas, drawable(text), at, kFont, size, colour, 1, cv::LINE_AA);
}

Image scaled(const Image& image, int width, int height) {
  Image result = blank(width, height);
  cv::Mat target = canvas_of(result);
  cv::resize(read_only(image), target, target.size(), 0, 0,
             width > image.width || height > image.height ? cv::INTER_NEAREST : cv::INTER_AREA);
  return result;
}

void draw_picture(cv::Mat& canvas, const Image& image, cv::Point corner) {
  const cv::Rect place = cv::Rect(corner.x, corner.y, image.width, image.height) &
                         cv::Rect(0, 0, canvas.cols, canvas.rows);
  if (place.empty()) return;
  read_only(image)(place - corner).copyTo(canvas(place));
}

}  // namespace ttt::drawing
