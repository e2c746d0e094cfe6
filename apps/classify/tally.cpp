// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/classify/tally.h"

#include "apps/common/text.h"

#include <array>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kDenseConfusion = 100;  // classes; larger matrices are mostly zeros
constexpr int kRateDigits = 9;

Json dense_confusion(const vision::Accuracy& accuracy) {
  Json rows = Json::array();
  for (std::int64_t truth = 0; truth < accuracy.classes(); ++truth) {
    Json row = Json::array();
    for (std::int64_t predicted = 0; predicted < accuracy.classes(); ++predicted)
      row.push_back(accuracy.confusion(truth, predicted));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json sparse_confusion(const vision::Accuracy& accuracy) {
  Json entries = Json::array();
  for (std::int64_t truth = 0; truth < accuracy.classes(); ++truth)
    for (std::int64_t predicted = 0; predicted < accuracy.classes(); ++predicted)
      if (const std::int64_t count = accuracy.confusion(truth, predicted); count > 0)
        entries.push_back({truth, predicted, count});
  return entries;
}

/// Adds the numbers of `value` to those of `sum`, which has the same shape; other values stay.
void add_numbers(Json& sum, const Json& value) {
  if (value.is_structured()) {
    for (const auto& [key, item] : value.items())
      add_numbers(value.is_array() ? sum[std::stoul(key)] : sum[key], item);
  } else if (value.is_number()) {
    sum = sum.get<double>() + value.get<double>();
  }
}

void divide_numbers(Json& value, double divisor) {
  if (value.is_structured()) {
    for (Json& item : value) divide_numbers(item, divisor);
  } else if (value.is_number()) {
    value = significant(value.get<double>() / divisor, kRateDigits);
  }
}

}  // namespace

Tally::Tally(std::int64_t total, const RowSettings& settings) : total_(total), settings_(settings) {
  if (settings.labelled) accuracy_.emplace(settings.classes);
}

void Tally::add(const Json& row) {
  if (row["status"] != "ok") {
    ++failed_;
    return;
  }
  ++ok_;
  if (row.contains("inner")) add_inner(row["inner"]);
  if (!accuracy_ || !row.contains("rank")) return;
  // Five places suffice for all that is counted; the row says who is first and where the truth is.
  const auto truth = row["target"].get<std::int64_t>();
  const auto rank = row["rank"].get<std::size_t>();
  std::array<std::int64_t, 5> best{row["topk"][0]["index"].get<std::int64_t>(), -1, -1, -1, -1};
  if (rank >= 1 && rank <= best.size()) best[rank - 1] = truth;
  accuracy_->add(truth, best);
}

void Tally::add_inner(const Json& layers) {
  ++inner_count_;
  if (inner_sum_.is_null()) {
    inner_sum_ = layers;
  } else if (inner_sum_.size() == layers.size()) {
    add_numbers(inner_sum_, layers);
  }
}

Json Tally::accuracy_json() const {
  Json classes = Json::array();
  for (std::int64_t index = 0; index < accuracy_->classes(); ++index) {
    const std::int64_t count = accuracy_->class_count(index);
    if (count == 0) continue;
    const double hits = static_cast<double>(accuracy_->confusion(index, index));
    classes.push_back({{"index", index},
                       {"label", settings_.labels.name(index)},
                       {"count", count},
                       {"top1", significant(hits / static_cast<double>(count), kRateDigits)}});
  }
  Json accuracy{{"top1", significant(accuracy_->top1(), kRateDigits)},
                {"top5", significant(accuracy_->top5(), kRateDigits)},
                {"count", accuracy_->count()},
                {"per_class", std::move(classes)}};
  if (accuracy_->classes() <= kDenseConfusion) {
    accuracy["confusion"] = dense_confusion(*accuracy_);
  } else {
    accuracy["confusion_nonzero"] = sparse_confusion(*accuracy_);
  }
  return accuracy;
}

void Tally::put_into(Json& summary) const {
  summary["counts"] = {{"total", std::max(total_, ok_ + failed_)},
                       {"ok", ok_},
                       {"failed", failed_},
                       {"not_done", std::max<std::int64_t>(0, total_ - ok_ - failed_)}};
  if (accuracy_ && accuracy_->count() > 0) summary["accuracy"] = accuracy_json();
  if (inner_count_ == 0) return;
  summary["inner"] = inner_sum_;
  divide_numbers(summary["inner"], static_cast<double>(inner_count_));
}

}  // namespace ttt::cli
