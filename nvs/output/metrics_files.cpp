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

bool any_leak(const MetricsReport& report) {
  return std::any_of(report.views.begin(), report.views.end(),
                     [](const ViewMetrics& view) { return view.leaked; });
}

}  // namespace

std::string metrics_json(const MetricsReport& report) {
  Json views = Json::array();
  Json leaked = Json::array();
  for (const ViewMetrics& view : report.views) {
    views.push_back({{"index", view.index},
                     {"file", view.file},
                     {"psnr", number(view.psnr)},
                     {"ssim", number(view.ssim)}});
    if (view.leaked) leaked.push_back(view.index);
  }
  Json json{{"schema", 1},
            {"scene", report.scene},
            {"views", views},
            {"mean", {{"psnr", number(report.mean_psnr())}, {"ssim", number(report.mean_ssim())}}},
            {"psnr_of_mean_error", number(report.psnr_of_mean_error())}};
  if (any_leak(report)) json["inputs_measured"] = leaked;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string metrics_csv(const MetricsReport& report) {
  std::string out = "index,file,psnr,ssim\n";
  for (const ViewMetrics& view : report.views)
    out += fmt::format("{},{},{},{}\n", view.index, csv_field(view.file), csv_number(view.psnr),
                       csv_number(view.ssim));
  return out + fmt::format("mean,,{},{}\n", csv_number(report.mean_psnr()),
                           csv_number(report.mean_ssim()));
}

std::string metrics_table(const MetricsReport& report) {
  const auto row = [](const std::string& name, double psnr, std::optional<double> ssim,
                      const std::string& rest) {
    return fmt::format("{:>5}  {:>6.2f}  {:>6}  {}\n", name, psnr,
                       ssim.has_value() ? fmt::format("{:.4f}", *ssim) : "-", rest);
  };
  std::string out = " view    PSNR    SSIM  file\n";
  for (const ViewMetrics& view : report.views)
    out += row(std::to_string(view.index), view.psnr, view.ssim,
               printable(view.file, 80) + (view.leaked ? " (an input too)" : ""));
  if (report.views.size() != 1)
    out += row("mean", report.mean_psnr(), report.mean_ssim(),
               fmt::format("PSNR of the mean error {:.2f}", report.psnr_of_mean_error()));
  return out;
}

void write_metrics(const std::string& path, const MetricsReport& report) {
  write_file(path, is_json(path) ? metrics_json(report) : metrics_csv(report));
}

void check_metrics_path(const std::string& path, bool overwrite) {
  is_json(path);
  check_writable(path, overwrite);
}

}  // namespace ttt::nvs
