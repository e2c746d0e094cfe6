// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/curves.h"

#include "core/atomic_file.h"
#include "core/media/drawing.h"
#include "core/media/encode_png.h"

#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace ttt::training {
namespace {

using Json = nlohmann::ordered_json;
using Points = std::vector<std::pair<double, double>>;

struct Series {
  std::string name;
  Points points;
};

constexpr int kWidth = 1000, kPanelHeight = 300;
constexpr int kLeft = 80, kRight = 20, kTop = 30, kBottom = 40;

std::vector<Json> of_kind(const std::vector<Json>& rows, std::string_view kind) {
  std::vector<Json> result;
  for (const Json& row : rows)
    if (row.value("kind", "") == kind) result.push_back(row);
  return result;
}

/// One line a row; the columns are the rows' keys, without "kind". A score that begins later, or
/// that only a resumed run has, comes last.
void write_csv(const std::vector<Json>& rows, const std::filesystem::path& path) {
  if (rows.empty()) return;
  std::vector<std::string> columns;
  for (const Json& row : rows)
    for (const auto& [key, value] : row.items())
      if (key != "kind" && std::find(columns.begin(), columns.end(), key) == columns.end())
        columns.push_back(key);
  std::string text = fmt::format("{}\n", fmt::join(columns, ","));
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& column : columns)
      cells.push_back(row.contains(column) ? row[column].dump() : "");
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  write_file(path, text);
}

void write_norms(const std::vector<Json>& rows, const std::filesystem::path& path) {
  if (rows.empty()) return;
  std::string text = "step,quantity,layer,value\n";
  for (const Json& row : rows) {
    const std::string step = row["step"].dump();
    for (const auto& [layer, value] : row["gradient_norms"].items())
      text += fmt::format("{},gradient_norm,{},{}\n", step, layer, value.dump());
    for (const auto& [name, value] : row["inner_loop"].items()) {
      const std::size_t slash = name.rfind('/');
      text += fmt::format("{},{},{},{}\n", step, name.substr(slash + 1), name.substr(0, slash),
                          value.dump());
    }
  }
  write_file(path, text);
}

Points points_of(const std::vector<Json>& rows, const std::string& key) {
  Points points;
  for (const Json& row : rows)
    if (row.contains(key) && row[key].is_number())
      points.emplace_back(row["step"].get<double>(), row[key].get<double>());
  return points;
}

struct Range {
  double low = 0, high = 1;
};

Range range_of(const std::vector<Series>& series, double (*pick)(std::pair<double, double>)) {
  double low = INFINITY, high = -INFINITY;
  for (const Series& one : series)
    for (const auto& point : one.points) {
      low = std::min(low, pick(point));
      high = std::max(high, pick(point));
    }
  if (!(low <= high)) return {};
  return high > low ? Range{low, high} : Range{low - 0.5, high + 0.5};
}

constexpr double kTextSize = 0.45;

/// One diagram with its axes into a strip of the picture.
void draw_panel(cv::Mat panel, const std::string& title, const std::vector<Series>& series) {
  static const cv::Scalar kColors[] = {{20, 80, 180},  {240, 120, 30}, {40, 150, 60},
                                       {160, 40, 160}, {20, 170, 190}, {120, 90, 60}};
  constexpr std::size_t kColorCount = std::size(kColors);
  const cv::Scalar black(0, 0, 0), grey(220, 220, 220);
  const Range x = range_of(series, [](std::pair<double, double> p) { return p.first; });
  const Range y = range_of(series, [](std::pair<double, double> p) { return p.second; });
  const int right = panel.cols - kRight, bottom = panel.rows - kBottom;
  constexpr int kTicks = 5;
  for (int i = 0; i < kTicks; ++i) {
    const double part = static_cast<double>(i) / (kTicks - 1);
    const int py = bottom - static_cast<int>(part * (bottom - kTop));
    const int px = kLeft + static_cast<int>(part * (right - kLeft));
    cv::line(panel, {kLeft, py}, {right, py}, grey, 1);
    drawing::draw_text(panel, fmt::format("{:.3g}", y.low + part * (y.high - y.low)), {8, py + 4},
                       black, kTextSize);
    drawing::draw_text(panel, fmt::format("{:.0f}", x.low + part * (x.high - x.low)),
                       {px - 20, bottom + 18}, black, kTextSize);
  }
  cv::rectangle(panel, {kLeft, kTop}, {right, bottom}, black, 1);
  int label = kLeft;
  drawing::draw_text(panel, title, {label, kTop - 10}, black, kTextSize);
  label += 12 * static_cast<int>(title.size());
  for (std::size_t s = 0; s < series.size(); ++s) {
    std::vector<cv::Point> line;
    for (const auto& [px, py] : series[s].points)
      line.emplace_back(
          kLeft + static_cast<int>((px - x.low) / (x.high - x.low) * (right - kLeft)),
          bottom - static_cast<int>((py - y.low) / (y.high - y.low) * (bottom - kTop)));
    cv::polylines(panel, line, false, kColors[s % kColorCount], 2, cv::LINE_AA);
    drawing::draw_text(panel, series[s].name, {label, kTop - 10}, kColors[s % kColorCount],
                       kTextSize);
    label += 10 * static_cast<int>(series[s].name.size()) + 20;
  }
}

struct Panel {
  std::string title;
  std::vector<Series> series;
};

/// Loss first, then every score that training steps have, with the evaluations that are called
/// after it ("psnr": "psnr_no_update", "ema_psnr"), then what else was evaluated.
std::vector<Panel> panels_of(const std::vector<Json>& steps, const std::vector<Json>& evaluations) {
  static const std::set<std::string> kNoScore{
      "kind",          "step",          "epoch",         "loss",
      "learning_rate", "gradient_norm", "skipped_steps", "seconds_per_step"};
  std::vector<Panel> panels{{"loss", {{"training", points_of(steps, "loss")}}}};
  // The last row knows scores that began later.
  for (const auto& [key, value] : steps.back().items())
    if (!kNoScore.contains(key)) panels.push_back({key, {{"training", points_of(steps, key)}}});
  Panel others{"score", {}};
  if (!evaluations.empty())
    for (const auto& [key, value] : evaluations.back().items()) {
      if (kNoScore.contains(key)) continue;
      const std::string& full = key;
      const auto found = std::find_if(panels.begin(), panels.end(), [&](const Panel& panel) {
        return full.starts_with(panel.title) ||
               full.starts_with(fmt::format("ema_{}", panel.title)) || full.ends_with(panel.title);
      });
      (found == panels.end() ? others : *found)
          .series.push_back({key, points_of(evaluations, key)});
    }
  if (!others.series.empty()) panels.push_back(std::move(others));
  panels.push_back({"learning rate", {{"", points_of(steps, "learning_rate")}}});
  return panels;
}

void draw_curves(const std::vector<Panel>& panels, const std::filesystem::path& path) {
  Image picture = drawing::blank(kWidth, static_cast<int>(panels.size()) * kPanelHeight);
  const cv::Mat image = drawing::canvas_of(picture);
  int top = 0;
  for (const Panel& panel : panels) {
    draw_panel(image.rowRange(top, top + kPanelHeight), panel.title, panel.series);
    top += kPanelHeight;
  }
  write_file(path, encode_png(picture));
}

}  // namespace

void write_curves(const std::vector<Json>& rows, const std::filesystem::path& folder) {
  const std::vector<Json> steps = of_kind(rows, "step"), evaluations = of_kind(rows, "evaluation");
  write_csv(steps, folder / "curves.csv");
  write_csv(evaluations, folder / "evaluation.csv");
  write_norms(of_kind(rows, "norms"), folder / "norms.csv");
  if (!steps.empty()) draw_curves(panels_of(steps, evaluations), folder / "curves.png");
}

}  // namespace ttt::training
