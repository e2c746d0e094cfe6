// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/classify/inputs.h"
#include "apps/classify/setup.h"
#include "apps/classify/tally.h"
#include "apps/common/result_sink.h"

#include <chrono>

namespace ttt::cli {

class FeatureFile;
class SheetFile;

/// One run over a list of pictures: rows, summary, run record.
class ClassifyRun {
 public:
  ClassifyRun(const OptionTable& table, const ClassifyOptions& options, ResultFormat format);
  ~ClassifyRun();
  /// Returns the exit code, or throws Error for what ends a run.
  int run();

 private:
  using Json = nlohmann::ordered_json;
  using Clock = std::chrono::steady_clock;

  void open_outputs();
  /// Drops the items that an earlier run has done and counts its rows.
  void skip_finished(FileSink& sink);
  void on_row(vision::ClassifyRow&& row);
  vision::JobEnd classify();
  Json summary(vision::JobEnd end) const;
  /// What must not change when the run is resumed.
  Json identity() const;
  void finish(vision::JobEnd end);

  const OptionTable& table_;
  const ClassifyOptions& options_;
  ResultFormat format_;
  Clock::time_point start_ = Clock::now();
  std::unique_ptr<FeatureFile> features_;
  std::unique_ptr<SheetFile> contact_sheet_;
  InputSet inputs_;
  std::optional<ClassifySetup> setup_;
  std::vector<std::optional<Target>> targets_;
  std::vector<vision::InnerStepReport> inner_;
  RowSettings rows_;
  std::optional<Tally> tally_;
  std::unique_ptr<ResultSink> sink_;
  std::optional<Error> last_error_;
  Json record_;
};

}  // namespace ttt::cli
