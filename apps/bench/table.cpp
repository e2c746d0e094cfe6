// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/rows.h"
#include "apps/common/renderer_choice.h"
#include "apps/common/text.h"
#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string time_text(const Json& milliseconds) {
  if (!milliseconds.is_number()) return "-";
  const double value = milliseconds.get<double>();
  if (value >= 100) return fmt::format("{:.0f} ms", value);
  return value >= 1 ? fmt::format("{:.2f} ms", value) : fmt::format("{:.1f} us", 1000 * value);
}

std::string number_text(const Json& value, int digits) {
  return value.is_number() ? fmt::format("{:.{}f}", value.get<double>(), digits) : "-";
}

std::string percent_text(const Json& value) {
  return value.is_number() ? fmt::format("{:.0f} %", 100 * value.get<double>()) : "-";
}

/// Half of the distance between the quartiles, as a part of the median.
std::string spread_text(const Json& row) {
  if (!row["time_ms"].is_number()) return "-";
  return fmt::format("{:.1f} %", 50 * (row["q3_ms"].get<double>() - row["q1_ms"].get<double>()) /
                                     row["time_ms"].get<double>());
}

std::string text_of(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? printable(found->get<std::string>()) : "";
}

class Table : public ResultRenderer {
 public:
  explicit Table(std::size_t name_width) : width_(std::max<std::size_t>(name_width, 4)) {}

  std::string begin() override {
    return fmt::format("{:<{}}  type  {:<9}  threads  {:>10}  {:>7}  {:>9}  {:>9}  {:>11}  {:>8}\n",
                       "what", width_, "backend", "median", "spread", "images/s", "GFLOP/s",
                       "of roofline", "MiB");
  }

  std::string row(const Json& row) override {
    std::string line =
        fmt::format("{:<{}}  {:<4}  {:<9}  {:>7}", subject_text(row), width_, text_of(row, "dtype"),
                    text_of(row, "backend"), row["threads"].get<int>());
    if (row["status"] != "ok") return line + "  FAILED\n  " + text_of(row, "error") + "\n";
    return line + fmt::format("  {:>10}  {:>7}  {:>9}  {:>9}  {:>11}  {:>8}\n",
                              time_text(row["time_ms"]), spread_text(row),
                              number_text(row["images_per_s"], 1), number_text(row["gflops"], 1),
                              percent_text(row["roofline_share"]),
                              number_text(row["memory_mib"], 0));
  }

  std::string end(const Json& summary) override {
    const Json& host = summary["host"];
    std::string text = "\n";
    for (const Json& roofline : summary["rooflines"])
      text += fmt::format("roofline {}, {} threads: {:.0f} GFLOP/s\n", text_of(roofline, "dtype"),
                          roofline["threads"].get<int>(), roofline["gflops"].get<double>());
    return text + fmt::format("{} measured in {:.1f} s: {}, {} in use, {}\n",
                              summary["counts"]["ok"].get<int>(),
                              summary["total_time_ms"].get<double>() / 1000,
                              text_of(host, "processor"), text_of(summary, "isa"),
                              text_of(summary, "version"));
  }

 private:
  std::size_t width_;
};

class ComparisonTable : public ResultRenderer {
 public:
  explicit ComparisonTable(std::size_t name_width) : width_(std::max<std::size_t>(name_width, 4)) {}

  std::string begin() override {
    return fmt::format("{:<{}}  type  {:<9}  threads  {:>10}  {:>10}  {:>6}\n", "what", width_,
                       "backend", "A", "B", "B/A");
  }

  std::string row(const Json& row) override {
    return fmt::format("{:<{}}  {:<4}  {:<9}  {:>7}  {:>10}  {:>10}  {:>6}  {}\n",
                       subject_text(row), width_, text_of(row, "dtype"), text_of(row, "backend"),
                       row["threads"].is_number() ? dump_json(row["threads"]) : "-",
                       time_text(row["a_ms"]), time_text(row["b_ms"]), number_text(row["ratio"], 2),
                       text_of(row, "status"));
  }

  std::string end(const Json& summary) override {
    const Json& counts = summary["counts"];
    return fmt::format(
        "\n{} compared, ratio of times {} in the geometric mean: {} slower, {} faster, {} the same "
        "(within {:g} %), {} only in A, {} only in B\n",
        counts["compared"].get<int>(), number_text(summary["mean_ratio"], 3),
        counts["slower"].get<int>(), counts["faster"].get<int>(), counts["same"].get<int>(),
        100 * summary["threshold"].get<double>(), counts["missing"].get<int>(),
        counts["new"].get<int>());
  }

 private:
  std::size_t width_;
};

std::vector<CsvColumn> columns_of(const std::vector<const char*>& fields) {
  std::vector<CsvColumn> columns;
  for (const char* name : fields) columns.push_back(field_column(name));
  return columns;
}

}  // namespace

std::unique_ptr<ResultRenderer> make_bench_renderer(ResultFormat format, std::size_t name_width) {
  return make_renderer(format,
                       columns_of({"kind",
                                   "name",
                                   "case",
                                   "pass",
                                   "backend",
                                   "isa",
                                   "device",
                                   "dtype",
                                   "threads",
                                   "batch",
                                   "width",
                                   "height",
                                   "status",
                                   "samples",
                                   "passes_per_sample",
                                   "time_ms",
                                   "q1_ms",
                                   "q3_ms",
                                   "min_ms",
                                   "max_ms",
                                   "gflops",
                                   "roofline_gflops",
                                   "roofline_share",
                                   "gbytes_per_s",
                                   "images_per_s",
                                   "memory_mib",
                                   "peak_memory_mib",
                                   "error"}),
                       std::make_unique<Table>(name_width));
}

std::unique_ptr<ResultRenderer> make_comparison_renderer(ResultFormat format,
                                                         std::size_t name_width) {
  return make_renderer(
      format,
      columns_of({"kind", "name", "case", "pass", "backend", "device", "dtype", "threads", "batch",
                  "width", "height", "status", "a_ms", "b_ms", "ratio"}),
      std::make_unique<ComparisonTable>(name_width));
}

}  // namespace ttt::cli
