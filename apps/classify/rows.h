// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/result_format.h"
#include "vision/classify_job.h"

#include <map>
#include <optional>
#include <span>
#include <string>

namespace ttt::cli {

/// The class that a labelled picture shows.
struct Target {
  std::int64_t index = 0;
  std::string label;
};

/// What the rows of a run have in common.
struct RowSettings {
  vision::LabelSet labels;
  std::int64_t classes = 0;
  std::int64_t top_k = 5;
  bool logits = false;
  bool labelled = false;      ///< rows have a target
  bool inner_report = false;  ///< rows have "inner"
};

/// One result row in its JSON form. A row with an error has no scores.
nlohmann::ordered_json make_row(const vision::ClassifyRow& row, const std::string& name,
                                const std::optional<Target>& target, const RowSettings& settings);

/// A row for something that never became an item.
nlohmann::ordered_json make_error_row(const std::string& name, const Error& error);

/// Reports of the TTT layers as JSON, in the order of the layers.
nlohmann::ordered_json inner_json(std::span<const vision::InnerStepReport> reports);

std::unique_ptr<ResultRenderer> make_classify_renderer(ResultFormat format,
                                                       const RowSettings& settings);

}  // namespace ttt::cli
