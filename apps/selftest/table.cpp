// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/renderer_choice.h"
#include "apps/common/text.h"
#include "apps/selftest/rows.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNumbers = 17;  // width of "1.2e-07 (0.00098)"

double error_of(const Json& deviation) {
  const Json& error = deviation["max_error"];
  return error.is_number() && std::isfinite(error.get<double>())
             ? error.get<double>()
             : std::numeric_limits<double>::infinity();
}

/// The entry with the largest error for its tolerance; null without any.
Json worst_of(const Json& deviations) {
  const auto share = [](const Json& deviation) {
    return error_of(deviation) / deviation["tolerance"].get<double>();
  };
  const auto worst =
      std::max_element(deviations.begin(), deviations.end(),
                       [&](const Json& a, const Json& b) { return share(a) < share(b); });
  return worst == deviations.end() ? Json(nullptr) : *worst;
}

std::string numbers(const Json& deviations) {
  const Json worst = worst_of(deviations);
  if (worst.is_null()) return "-";
  return fmt::format("{:.1e} ({:.2g})", error_of(worst), worst["tolerance"].get<double>());
}

std::string variant_of(const Json& row) {
  std::string text = row["backend"].get<std::string>();
  if (row["isa"].is_string()) text += " " + row["isa"].get<std::string>();
  return text;
}

class Table : public ResultRenderer {
 public:
  explicit Table(const SelftestPlan& plan) {
    for (const Check& check : plan.checks) width_ = std::max(width_, check.name.size());
  }

  std::string begin() override {
    return fmt::format("{:<{}}  type  {:<12}  {:<{}}  gradients\n", "largest error (tolerance)",
                       width_, "backend", "outputs", kNumbers);
  }

  std::string row(const Json& row) override {
    if (row["kind"] == "backend") {
      const std::string text = fmt::format("{:<{}}  {}\n", row["name"].get<std::string>(), width_,
                                           row["error"].get<std::string>());
      return (unavailable_++ == 0 ? "\n" : "") + text;
    }
    const bool good = row["status"] == "ok";
    std::string line = fmt::format(
        "{:<{}}  {:<4}  {:<12}  {:<{}}  {:<{}}  {}\n", row["name"].get<std::string>(), width_,
        row["dtype"].get<std::string>(), variant_of(row), numbers(row["outputs"]), kNumbers,
        numbers(row["gradients"]), kNumbers, good ? "ok" : "FAILED");
    if (!good) line += "  " + row["error"].get<std::string>() + "\n";
    return line;
  }

  std::string end(const Json& summary) override {
    const Json& counts = summary["counts"];
    const Json& host = summary["host"];
    return fmt::format("\n{} of {} checks passed in {:.1f} s: {}, {} in use, {}\n",
                       counts["ok"].get<int>(), counts["total"].get<int>(),
                       summary["total_time_ms"].get<double>() / 1000,
                       host["processor"].get<std::string>(), summary["isa"].get<std::string>(),
                       summary["version"].get<std::string>());
  }

 private:
  std::size_t width_ = 25;
  int unavailable_ = 0;
};

std::vector<CsvColumn> csv_columns() {
  std::vector<CsvColumn> columns;
  for (const char* name : {"kind", "name", "backend", "isa", "device", "dtype", "status"})
    columns.push_back(field_column(name));
  for (const char* list : {"outputs", "gradients"})
    for (const char* key : {"max_error", "tolerance"})
      columns.push_back({fmt::format("{}_{}", list, key), [list, key](const Json& row) {
                           const Json worst =
                               row.contains(list) ? worst_of(row[list]) : Json(nullptr);
                           return worst.is_null() ? std::string() : dump_json(worst[key]);
                         }});
  columns.push_back(field_column("error"));
  return columns;
}

}  // namespace

std::unique_ptr<ResultRenderer> make_selftest_renderer(ResultFormat format,
                                                       const SelftestPlan& plan) {
  return make_renderer(format, csv_columns(), std::make_unique<Table>(plan));
}

}  // namespace ttt::cli
