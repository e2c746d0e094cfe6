// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/classify/rows.h"
#include "vision/accuracy.h"

namespace ttt::cli {

/// Adds up rows, also those of an earlier run that is resumed.
class Tally {
 public:
  /// `total`: how many inputs there are; 0 when they aren't known beforehand. Inner reports of the
  /// rows are averaged by layer.
  Tally(std::int64_t total, const RowSettings& settings);

  void add(const nlohmann::ordered_json& row);
  std::int64_t failed() const { return failed_; }
  /// "counts" {total, ok, failed, not_done}, "accuracy" when there are labelled rows: top1, top5,
  /// count, per_class, and confusion (truth by prediction) up to 100 classes, else
  /// confusion_nonzero
  /// ([truth, prediction, count]); "inner" when rows have it.
  void put_into(nlohmann::ordered_json& summary) const;

 private:
  nlohmann::ordered_json accuracy_json() const;
  void add_inner(const nlohmann::ordered_json& layers);

  std::int64_t total_;
  const RowSettings& settings_;
  std::int64_t ok_ = 0;
  std::int64_t failed_ = 0;
  std::optional<vision::Accuracy> accuracy_;
  nlohmann::ordered_json inner_sum_;
  std::int64_t inner_count_ = 0;
};

}  // namespace ttt::cli
