// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/atomic_file.h"
#include "core/error.h"
#include "nvs/output/metrics.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

namespace ttt::nvs {
namespace {

using Json = nlohmann::ordered_json;

Json number(std::optional<double> value) {
  return value.has_value() && std::isfinite(*value) ? Json(*value) : Json();
}

/// Else CSV. Throws Error(usage) for other suffixes.
bool is_json(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  std::string suffix = dot == std::string::npos ? "" : path.substr(dot);
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  TTT_CHECK(suffix == ".json" || suffix == ".csv", usage, "metrics are written as JSON or CSV",
            printable(path), "give a name that ends in .json or .csv");
  return suffix == ".json";
}

/// A field in double quotes where it needs them.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csv_number(std::optional<double> value) {
  return value.has_value() ? fmt::format("{}", *value) : std::string();
}

}  // namespace

std::string metrics_json(const MetricsReport& report) {
  Json views = Json::array();
  Json leaked = Json::array();
  for (const ViewMetrics& view : report.views) {
    Json row{{"index", view.index},
             {"file", view.file},
             {"psnr", number(view.psnr)},
             {"ssim", number(view.ssim)}};
    if (view.lpips) row["lpips"] = number(view.lpips);
    views.push_back(std::move(row));
    if (view.leaked) leaked.push_back(view.index);
  }
  Json mean{{"psnr", number(report.mean_psnr())}, {"ssim", number(report.mean_ssim())}};
  if (report.mean_lpips()) mean["lpips"] = number(report.mean_lpips());
  Json json{{"schema", 1},
            {"scene", report.scene},
            {"views", views},
            {"mean", mean},
            {"psnr_of_mean_error", number(report.psnr_of_mean_error())}};
  if (!leaked.empty()) json["inputs_measured"] = leaked;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string metrics_csv(const MetricsReport& report) {
  const bool perceptual = report.mean_lpips().has_value();
  const auto row = [&](const std::string& start, double psnr, std::optional<double> ssim,
                       std::optional<double> lpips) {
    return fmt::format("{},{},{}{}\n", start, csv_number(psnr), csv_number(ssim),
                       perceptual ? "," + csv_number(lpips) : "");
  };
  std::string out = fmt::format("index,file,psnr,ssim{}\n", perceptual ? ",lpips" : "");
  for (const ViewMetrics& view : report.views)
    out += row(fmt::format("{},{}", view.index, csv_field(view.file)), view.psnr, view.ssim,
               view.lpips);
  return out + row("mean,", report.mean_psnr(), report.mean_ssim(), report.mean_lpips());
}

void write_metrics(const std::string& path, const MetricsReport& report) {
  write_file(path, is_json(path) ? metrics_json(report) : metrics_csv(report));
}

void check_metrics_path(const std::string& path, bool overwrite) {
  is_json(path);
  check_writable(path, overwrite);
}

}  // namespace ttt::nvs
