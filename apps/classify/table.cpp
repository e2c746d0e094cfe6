// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/classify/table.h"

#include "apps/common/text.h"
#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFewClasses = 30;  // so many still fit on a screen

std::string time_text(double milliseconds) {
  return milliseconds < 1000 ? fmt::format("{:.0f} ms", milliseconds)
                             : fmt::format("{:.1f} s", milliseconds / 1000);
}

std::string picture_lines(const Json& row, const RowSettings& settings) {
  std::string text = printable(get_name(row, "input"));
  if (row["status"] == "error")
    return text + "\n  error: " + row["error"].get<std::string>() + "\n";
  text += fmt::format("  {}x{}  {:.1f} ms", row["width"].get<int>(), row["height"].get<int>(),
                      row["time_ms"].get<double>());
  if (row.contains("rank"))
    text += fmt::format("  is {} {}, ranked {}", row["target"].get<int>(),
                        printable(row["target_label"].get<std::string>()), row["rank"].get<int>());
  text += '\n';
  const auto index_width = std::to_string(std::max<std::int64_t>(0, settings.classes - 1)).size();
  for (const Json& entry : row["topk"])
    text += fmt::format("  {:<#11.6g}  {:>{}}  {}\n", entry["prob"].get<double>(),
                        entry["index"].get<int>(), index_width,
                        printable(entry["label"].get<std::string>()));
  if (settings.logits) {
    text += "  logits";
    for (const Json& logit : row["logits"]) text += fmt::format(" {}", logit.get<double>());
    text += '\n';
  }
  if (row.contains("inner")) text += inner_table(row["inner"]);
  return text;
}

std::string accuracy_lines(const Json& accuracy) {
  std::string text =
      fmt::format("top-1 {:.2f}%, top-5 {:.2f}% of {} labelled pictures\n",
                  100 * accuracy["top1"].get<double>(), 100 * accuracy["top5"].get<double>(),
                  accuracy["count"].get<std::int64_t>());
  const Json& classes = accuracy["per_class"];
  if (classes.size() > kFewClasses) return text;
  for (const Json& entry : classes)
    text += fmt::format("  {:6.2f}%  {} ({} pictures)\n", 100 * entry["top1"].get<double>(),
                        printable(entry["label"].get<std::string>()),
                        entry["count"].get<std::int64_t>());
  return text;
}

class Table : public ResultRenderer {
 public:
  explicit Table(const RowSettings& settings) : settings_(settings) {}

  std::string row(const Json& row) override {
    ++rows_;
    return picture_lines(row, settings_);
  }

  std::string end(const Json& summary) override {
    std::string text;
    if (summary.contains("accuracy")) text.append("\n").append(accuracy_lines(summary["accuracy"]));
    if (summary.contains("inner") && rows_ > 1)
      text += "\nInner loop, mean over the pictures\n" + inner_table(summary["inner"]);
    const Json& counts = summary["counts"];
    if (counts["total"].get<std::int64_t>() <= 1) return text;
    text += fmt::format("\n{} of {} pictures labelled", counts["ok"].get<std::int64_t>(),
                        counts["total"].get<std::int64_t>());
    if (const auto failed = counts["failed"].get<std::int64_t>(); failed > 0)
      text += fmt::format(", {} failed", failed);
    if (const auto left = counts["not_done"].get<std::int64_t>(); left > 0)
      text += fmt::format(", {} not done", left);
    return text + ", in " + time_text(summary["total_time_ms"].get<double>()) + "\n";
  }

 private:
  const RowSettings settings_;
  std::size_t rows_ = 0;
};

}  // namespace

std::unique_ptr<ResultRenderer> make_table_renderer(const RowSettings& settings) {
  return std::make_unique<Table>(settings);
}

std::string inner_table(const Json& layers) {
  std::size_t width = 5;
  for (const Json& layer : layers)
    width = std::max(width, layer["layer"].get<std::string>().size());
  std::string text = fmt::format("  {:<{}}  steps  rate  {:<44}  {}\n", "layer", width,
                                 "gated linear", "depthwise") +
                     fmt::format("  {:<{}}               {}  {}\n", "", width,
                                 "loss before      after   gradient   update",
                                 "loss before      after   gradient   update");
  for (const Json& layer : layers) {
    text += fmt::format("  {:<{}}  {:>5}  {:>4}", layer["layer"].get<std::string>(), width,
                        layer["steps"].get<int>(), layer["learning_rate"].get<double>());
    for (const char* name : {"gated_linear", "depthwise"}) {
      const Json& model = layer[name];
      text +=
          fmt::format("  {:>11.5g}  {:>9.5g}  {:>9.4g}  {:>7.4g}",
                      model["loss_before"].get<double>(), model["loss_after"].get<double>(),
                      model["gradient_norm"].get<double>(), model["update_ratio"].get<double>());
    }
    text += '\n';
  }
  return text;
}

}  // namespace ttt::cli
