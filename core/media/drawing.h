// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"

#include <opencv2/core.hpp>

#include <string>
#include <string_view>

/// What overviews and plots share: text and pictures on OpenCV canvases, in RGB.
namespace ttt::drawing {

constexpr double kTextSize = 0.42;
inline const cv::Scalar kInk(40, 40, 40);

/// A white picture.
Image blank(int width, int height);
/// The picture's own pixels as something to draw on; the picture must outlive it.
cv::Mat canvas_of(Image& image);

/// Pixels that draw_text() takes from left to right.
int text_width(std::string_view text, double size = kTextSize);

enum class Keep { beginning, end };
/// The text cut to a width, with dots where something is missing.
std::string fitted(std::string_view text, int width, Keep keep = Keep::beginning,
                   double size = kTextSize);

/// One line, from the left end of its base line. Characters that the font lacks become "?".
void draw_text(cv::Mat& canvas, std::string_view text, cv::Point at,
               const cv::Scalar& colour = kInk, double size = kTextSize);

/// The picture at another size. It grows without smoothing, so that its pixels stay visible.
Image scaled(const Image& image, int width, int height);
/// Copies a picture onto the canvas; what lies outside is cut off.
void draw_picture(cv::Mat& canvas, const Image& image, cv::Point corner);

}  // namespace ttt::drawing
