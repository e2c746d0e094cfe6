// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/classify/rows.h"

#include "apps/classify/table.h"
#include "apps/common/renderer_choice.h"
#include "apps/common/text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kProbabilityDigits = 6;
constexpr int kReportDigits = 9;

/// Place of the true class among the scores, counted from 1; ties by index.
std::int64_t rank_of(std::int64_t truth, std::span<const float> logits) {
  const float own = logits[static_cast<std::size_t>(truth)];
  std::int64_t rank = 1;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > own || (logits[i] == own && static_cast<std::int64_t>(i) < truth)) ++rank;
  return rank;
}

void put_error(Json& row, const Error& error) {
  row["status"] = "error";
  row["error"] = utf8_text(error.what());
  row["error_kind"] = to_string(error.kind());
}

/// Column of row[list][place] or row[list][place][key].
CsvColumn list_column(std::string name, const char* list, std::size_t place, const char* key) {
  return {std::move(name), [list, place, key](const Json& row) {
            const auto found = row.find(list);
            if (found == row.end() || place >= found->size()) return std::string{};
            const Json& entry = (*found)[place];
            return key == nullptr ? dump_json(entry) : field_column(key).text(entry);
          }};
}

std::vector<CsvColumn> csv_columns(const RowSettings& settings) {
  std::vector<CsvColumn> columns;
  const auto add = [&](const char* name) { columns.push_back(field_column(name)); };
  for (const char* name : {"input", "status", "error", "error_kind"}) add(name);
  if (settings.labelled)
    for (const char* name : {"target", "target_label", "rank"}) add(name);
  const std::int64_t shown = std::min(settings.top_k, settings.classes);
  for (std::int64_t i = 0; i < shown; ++i)
    for (const char* key : {"index", "label", "prob"})
      columns.push_back(list_column(fmt::format("top{}_{}", i + 1, key), "topk",
                                    static_cast<std::size_t>(i), key));
  for (const char* name : {"width", "height", "time_ms"}) add(name);
  if (settings.logits)
    for (std::int64_t i = 0; i < settings.classes; ++i)
      columns.push_back(
          list_column(fmt::format("logit_{}", i), "logits", static_cast<std::size_t>(i), nullptr));
  return columns;
}

}  // namespace

Json make_error_row(const std::string& name, const Error& error) {
  Json row{{"schema", kSchema}};
  put_name(row, "input", name);
  put_error(row, error);
  return row;
}

Json make_row(const vision::ClassifyRow& row, const std::string& name,
              const std::optional<Target>& target, const RowSettings& settings) {
  Json result{{"schema", kSchema}};
  put_name(result, "input", name);
  if (row.error) {
    put_error(result, *row.error);
  } else {
    result["status"] = "ok";
    Json& best = result["topk"] = Json::array();
    for (const vision::ClassScore& score : row.top)
      best.push_back({{"index", score.index},
                      {"label", settings.labels.name(score.index)},
                      {"prob", significant(score.probability, kProbabilityDigits)}});
  }
  if (target) {
    result["target"] = target->index;
    result["target_label"] = target->label;
    if (!row.error) result["rank"] = rank_of(target->index, row.logits);
  }
  if (settings.logits && !row.error) {
    Json& logits = result["logits"] = Json::array();
    for (const float logit : row.logits) logits.push_back(shortest(logit));
  }
  if (row.width > 0) {
    result["width"] = row.width;
    result["height"] = row.height;
  }
  result["time_ms"] = significant(row.time_ms, kProbabilityDigits);
  return result;
}

Json inner_json(std::span<const vision::InnerStepReport> reports) {
  Json layers = Json::array();
  for (const vision::InnerStepReport& report : reports) {
    Json layer{
        {"layer", report.layer}, {"steps", report.steps}, {"learning_rate", report.learning_rate}};
    for (const vision::InnerModelReport& model : report.models)
      layer[model.model] = {{"loss_before", significant(model.loss_before, kReportDigits)},
                            {"loss_after", significant(model.loss_after, kReportDigits)},
                            {"gradient_norm", significant(model.gradient_norm, kReportDigits)},
                            {"update_ratio", significant(model.update_ratio, kReportDigits)}};
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::unique_ptr<ResultRenderer> make_classify_renderer(ResultFormat format,
                                                       const RowSettings& settings) {
  return make_renderer(format, csv_columns(settings), make_table_renderer(settings));
}

}  // namespace ttt::cli
