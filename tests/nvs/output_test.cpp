// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "nvs/output/contact_sheet.h"
#include "nvs/output/metrics.h"
#include "nvs/scene/views.h"
#include "tests/nvs/golden.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace ttt::nvs {
namespace {

std::vector<float> ramp(int width, int height, double slope, double offset) {
  std::vector<float> planes;
  for (int i = 0; i < 3 * width * height; ++i)
    planes.push_back(static_cast<float>(offset + slope * std::sin(0.7 * i) * std::cos(0.13 * i)));
  return planes;
}

/// The definition, position by position in two dimensions.
double slow_ssim(const std::vector<float>& a, const std::vector<float>& b, int width, int height) {
  double window[11][11];
  double norm = 0;
  for (int y = 0; y < 11; ++y)
    for (int x = 0; x < 11; ++x)
      norm += window[y][x] = std::exp(-((x - 5) * (x - 5) + (y - 5) * (y - 5)) / (2 * 1.5 * 1.5));
  double total = 0;
  int count = 0;
  for (int c = 0; c < 3; ++c)
    for (int top = 0; top + 11 <= height; ++top)
      for (int left = 0; left + 11 <= width; ++left, ++count) {
        double ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
        for (int y = 0; y < 11; ++y)
          for (int x = 0; x < 11; ++x) {
            const auto at = static_cast<std::size_t>((c * height + top + y) * width + left + x);
            const double w = window[y][x] / norm, p = a[at], q = b[at];
            ma += w * p, mb += w * q, aa += w * p * p, bb += w * q * q, ab += w * p * q;
          }
        const double c1 = 1e-4, c2 = 9e-4;
        total += (2 * ma * mb + c1) * (2 * (ab - ma * mb) + c2) /
                 ((ma * ma + mb * mb + c1) * (aa - ma * ma + bb - mb * mb + c2));
      }
  return total / count;
}

TEST(Metrics, PsnrOfKnownArrays) {
  const std::vector<float> a(12, 0.5F), b(12, 0.6F);
  EXPECT_NEAR(psnr_of(mean_squared_error(a, b)), 20, 1e-5);
  EXPECT_TRUE(std::isinf(psnr_of(mean_squared_error(a, a))));
  EXPECT_NEAR(psnr_of(1), 0, 1e-12);
}

TEST(Metrics, SsimFollowsItsDefinition) {
  const std::vector<float> a = ramp(17, 13, 0.4, 0.5), b = ramp(17, 13, 0.3, 0.45);
  EXPECT_NEAR(*ssim(a, b, 17, 13), slow_ssim(a, b, 17, 13), 1e-12);
  EXPECT_NEAR(*ssim(a, a, 17, 13), 1, 1e-12);
  EXPECT_FALSE(ssim(ramp(10, 20, 1, 0), ramp(10, 20, 1, 0), 10, 20).has_value());
}

MetricsReport report_of() {
  MetricsReport report{"a \"scene\", odd", {}};
  for (int i = 0; i < 3; ++i) {
    ViewMetrics view =
        measure_view(ramp(16, 16, 0.4, 0.5), ramp(16, 16, 0.4, 0.5 + 0.01 * (i + 1)), 16, 16);
    view.index = 2 * i;
    view.file = "images/a,\"b\".png";
    view.leaked = i == 2;
    report.views.push_back(view);
  }
  return report;
}

TEST(Metrics, ReportsHoldViewsAndMeans) {
  const MetricsReport report = report_of();
  const auto json = nlohmann::json::parse(metrics_json(report));
  EXPECT_EQ(json["schema"], 1);
  ASSERT_EQ(json["views"].size(), 3U);
  EXPECT_EQ(json["views"][1]["index"], 2);
  EXPECT_NEAR(json["views"][0]["psnr"].get<double>(), 40, 1e-3);
  EXPECT_EQ(json["views"][0]["psnr"].get<double>(), report.views[0].psnr);
  EXPECT_EQ(json["mean"]["psnr"].get<double>(), report.mean_psnr());
  EXPECT_LT(json["psnr_of_mean_error"].get<double>(), report.mean_psnr());
  EXPECT_EQ(json["inputs_measured"], nlohmann::json::array({4}));
  const std::string csv = metrics_csv(report);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  EXPECT_NE(csv.find("2,\"images/a,\"\"b\"\".png\","), std::string::npos) << csv;
  EXPECT_FALSE(json["views"][0].contains("lpips") || json["mean"].contains("lpips"));
}

TEST(Metrics, PerceptualDistancesAreReportedWhereMeasured) {
  MetricsReport report = report_of();
  for (ViewMetrics& view : report.views) view.lpips = 0.25 * view.index;
  const auto json = nlohmann::json::parse(metrics_json(report));
  EXPECT_EQ(json["views"][2]["lpips"], 1.0);
  EXPECT_EQ(json["mean"]["lpips"], 0.5);
  const std::string csv = metrics_csv(report);
  EXPECT_TRUE(csv.starts_with("index,file,psnr,ssim,lpips\n")) << csv;
  EXPECT_TRUE(csv.ends_with(",0.5\n")) << csv;
}

TEST(Metrics, ExactViewsHaveNoFiniteNumber) {
  MetricsReport report{"s", {measure_view(ramp(4, 4, 1, 0), ramp(4, 4, 1, 0), 4, 4)}};
  const auto json = nlohmann::json::parse(metrics_json(report));
  EXPECT_TRUE(json["views"][0]["psnr"].is_null());
  EXPECT_TRUE(json["views"][0]["ssim"].is_null());
}

TEST(Metrics, TheSuffixDecides) {
  const test::TempDir folder;
  write_metrics((folder / "m.csv").string(), report_of());
  EXPECT_TRUE(test::read_text(folder / "m.csv").starts_with("index,file,psnr,ssim\n"));
  write_metrics((folder / "m.JSON").string(), report_of());
  EXPECT_TRUE(test::read_text(folder / "m.JSON").starts_with("{"));
  EXPECT_THROW(check_metrics_path((folder / "m.txt").string(), true), Error);
  EXPECT_THROW(check_metrics_path((folder / "m.csv").string(), false), Error);
  EXPECT_NO_THROW(check_metrics_path((folder / "m.csv").string(), true));
}

TEST(ContactSheet, HoldsAllPictures) {
  const Image picture = from_planes(ramp(64, 48, 0.5, 0.5), 64, 48);
  const Image other = from_planes(ramp(64, 48, 0.2, 0.5), 64, 48);
  const std::vector<SheetPicture> inputs(7, {picture, "view 1"});
  const std::vector<SheetTarget> targets(2, {other, picture, report_of().views[0]});
  const Image sheet = contact_sheet(inputs, targets);
  EXPECT_GE(sheet.width, 7 * 128);
  EXPECT_GE(sheet.height, 3 * 96);
  EXPECT_GT(contact_sheet(inputs, {}).height, 96);
  EXPECT_GT(contact_sheet({}, targets).width, 6 * 128);
  const std::vector<SheetPicture> many(200, {picture, "ünïcödé name"});
  EXPECT_LT(contact_sheet(many, targets).height, 12000);
}

TEST(ContactSheet, ErrorsHaveColours) {
  const Image a{2, 1, {100, 100, 100, 0, 0, 0}}, b{2, 1, {100, 100, 100, 0, 200, 0}};
  const Image map = error_map(a, b);
  EXPECT_EQ(map.rgb[0], 0);
  EXPECT_EQ(map.rgb[3], 252);
}

}  // namespace
}  // namespace ttt::nvs
