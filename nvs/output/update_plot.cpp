// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/output/update_plot.h"

#include "core/media/drawing.h"

#include <opencv2/imgproc.hpp>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace ttt::nvs {
namespace {

constexpr int kWidth = 720, kPanel = 200, kLeft = 90, kMargin = 28;
const cv::Scalar kGrey(170, 170, 170), kBlue(40, 90, 200);

struct Series {
  std::vector<double> values;
  cv::Scalar colour;
};

/// Bars side by side for each update, from zero (or the lower end) to the value.
void draw_panel(cv::Mat& picture, int top, const std::string& title,
                const std::vector<Series>& series) {
  double low = 0, high = 0;
  for (const Series& s : series)
    for (const double value : s.values)
      if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  if (high - low < 1e-12) high = low + 1;
  const int bottom = top + kPanel - kMargin, head = top + kMargin;
  const auto y_of = [&](double value) {
    const double part = (std::clamp(value, low, high) - low) / (high - low);
    return bottom - static_cast<int>(std::lround(part * (bottom - head)));
  };
  drawing::draw_text(picture, title, {kLeft, top + 18});
  drawing::draw_text(picture, fmt::format("{:.3g}", high), {8, head + 5});
  drawing::draw_text(picture, fmt::format("{:.3g}", low), {8, bottom + 5});
  const std::size_t count = series[0].values.size();
  const double step = static_cast<double>(kWidth - kLeft - kMargin) / static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < series.size(); ++j) {
      const double value = series[j].values[i];
      if (!std::isfinite(value)) continue;
      const double each = step * 0.8 / static_cast<double>(series.size());
      const int x =
          kLeft + static_cast<int>(static_cast<double>(i) * step + static_cast<double>(j) * each);
      const int right = std::max(x, x + static_cast<int>(each) - 1);
      cv::rectangle(picture, {x, y_of(value)}, {right, y_of(0)}, series[j].colour, cv::FILLED);
    }
  cv::line(picture, {kLeft, y_of(0)}, {kWidth - kMargin, y_of(0)}, drawing::kInk);
}

}  // namespace

Image draw_updates(std::span<const UpdateBar> updates) {
  Image image = drawing::blank(kWidth, 3 * kPanel);
  cv::Mat picture = drawing::canvas_of(image);
  if (updates.empty()) return image;
  Series before{{}, kGrey}, after{{}, kBlue}, gradient{{}, kBlue}, change{{}, kBlue};
  for (const UpdateBar& update : updates) {
    before.values.push_back(update.loss_before);
    after.values.push_back(update.loss_after);
    gradient.values.push_back(std::log10(std::max(update.gradient_norm, 1e-12)));
    change.values.push_back(update.update_ratio);
  }
  draw_panel(picture, 0, "inner loss of each update, before and after", {before, after});
  draw_panel(picture, kPanel, "log10 of the gradient's length", {gradient});
  draw_panel(picture, 2 * kPanel, "length of the change over that of the weights", {change});
  return image;
}

}  // namespace ttt::nvs
