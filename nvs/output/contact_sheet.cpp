// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/output/contact_sheet.h"

#include "core/error.h"
#include "core/media/drawing.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ttt::nvs {
namespace {

constexpr int kGap = 8;
constexpr int kCaption = 20;
constexpr int kHeading = 28;
constexpr std::size_t kMost = 64;

/// Sizes of the grid; all cells are equal.
struct Grid {
  int zoom = 1;
  int cell_width = 0, cell_height = 0;
  int columns = 3;  ///< a multiple of three: rendered, truth, error
};

void put_text(cv::Mat& sheet, const std::string& text, int x, int y, int width, double size) {
  // Of a file's name the end says more.
  drawing::draw_text(sheet, drawing::fitted(text, width, drawing::Keep::end, size), {x, y},
                     drawing::kInk, size);
}

void put_picture(cv::Mat& sheet, const Grid& grid, const Image& image, int x, int y,
                 const std::string& caption) {
  const Image zoomed = drawing::scaled(image, image.width * grid.zoom, image.height * grid.zoom);
  cv::Mat cell = sheet(cv::Rect(x, y, grid.cell_width, grid.cell_height));
  drawing::draw_picture(cell, zoomed, {0, 0});
  put_text(sheet, caption, x, y + grid.cell_height + 14, grid.cell_width, 0.4);
}

std::string count_text(std::string_view name, std::size_t all) {
  return all <= kMost ? fmt::format("{} {}", all, name)
                      : fmt::format("the first {} of {} {}", kMost, all, name);
}

Grid make_grid(const Image& sample, std::size_t inputs, std::size_t targets) {
  constexpr int kNarrow = 160, kWide = 1600;
  Grid grid;
  grid.zoom = std::max(1, kNarrow / sample.width);
  grid.cell_width = sample.width * grid.zoom;
  grid.cell_height = sample.height * grid.zoom;
  const int fit = std::max(1, kWide / (grid.cell_width + kGap) / 3);
  const auto wanted = static_cast<int>(std::max((inputs + 2) / 3, targets));
  grid.columns = 3 * std::clamp(wanted, 1, fit);
  return grid;
}

}  // namespace

Image error_map(const Image& rendered, const Image& truth, double full_scale) {
  TTT_CHECK(rendered.width == truth.width && rendered.height == truth.height && full_scale > 0,
            internal, "pictures to compare differ in size");
  static constexpr std::array<std::array<double, 3>, 5> kColours{
      {{0, 0, 0}, {85, 15, 110}, {187, 55, 84}, {249, 142, 9}, {252, 255, 220}}};
  Image out{rendered.width, rendered.height, {}};
  out.rgb.reserve(rendered.rgb.size());
  for (std::size_t i = 0; i < rendered.rgb.size(); i += 3) {
    int worst = 0;
    for (std::size_t c = 0; c < 3; ++c)
      worst = std::max(worst, std::abs(int{rendered.rgb[i + c]} - int{truth.rgb[i + c]}));
    const double at = std::min(worst / 255.0 / full_scale, 1.0) * (kColours.size() - 1);
    const auto lower = std::min(static_cast<std::size_t>(at), kColours.size() - 2);
    const double share = at - static_cast<double>(lower);
    for (std::size_t c = 0; c < 3; ++c)
      out.rgb.push_back(static_cast<std::uint8_t>((1 - share) * kColours[lower][c] +
                                                  share * kColours[lower + 1][c] + 0.5));
  }
  return out;
}

Image contact_sheet(std::span<const SheetPicture> all_inputs,
                    std::span<const SheetTarget> all_targets) {
  const auto inputs = all_inputs.first(std::min(all_inputs.size(), kMost));
  const auto targets = all_targets.first(std::min(all_targets.size(), kMost));
  TTT_CHECK(!inputs.empty() || !targets.empty(), internal, "an empty contact sheet");
  const Image& sample = inputs.empty() ? targets[0].rendered : inputs[0].image;
  const Grid grid = make_grid(sample, inputs.size(), targets.size());
  const int row = grid.cell_height + kCaption + kGap;
  const auto rows_of = [](std::size_t count, int a_row) {
    return (static_cast<int>(count) + a_row - 1) / a_row;
  };
  const int across = grid.columns / 3;  // targets side by side
  const int input_rows = rows_of(inputs.size(), grid.columns);
  const int width = kGap + grid.columns * (grid.cell_width + kGap);
  const int height = 2 * kHeading + (input_rows + rows_of(targets.size(), across)) * row;
  Image result = drawing::blank(width, height);
  cv::Mat sheet = drawing::canvas_of(result);
  const auto left = [&](int column) { return kGap + column * (grid.cell_width + kGap); };

  put_text(sheet, count_text("inputs", all_inputs.size()), kGap, 18, width, 0.5);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const int column = static_cast<int>(i) % grid.columns;
    put_picture(sheet, grid, inputs[i].image, left(column),
                kHeading + static_cast<int>(i) / grid.columns * row, inputs[i].caption);
  }
  int y = kHeading + input_rows * row;
  if (!targets.empty())
    put_text(sheet,
             count_text("targets", all_targets.size()) + ": rendered, truth, error (0 to 0.5)",
             kGap, y + 18, width, 0.5);
  y += kHeading;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const SheetTarget& target = targets[i];
    const int column = 3 * (static_cast<int>(i) % across);
    const int top = y + static_cast<int>(i) / across * row;
    const ViewMetrics& metrics = target.metrics;
    put_picture(sheet, grid, target.rendered, left(column), top,
                fmt::format("view {}: {:.2f} dB", metrics.index, metrics.psnr));
    put_picture(sheet, grid, target.truth, left(column + 1), top, metrics.file);
    put_picture(sheet, grid, error_map(target.rendered, target.truth), left(column + 2), top,
                metrics.ssim.has_value() ? fmt::format("SSIM {:.4f}", *metrics.ssim) : "error");
  }
  return result;
}

}  // namespace ttt::nvs
