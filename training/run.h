// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training/ema.h"
#include "training/gradients.h"
#include "training/run_log.h"
#include "training/trainer.h"

#include <chrono>

namespace ttt::training {

/// One call of train(): the state between steps and what happens in each.
class Run {
 public:
  /// Resumes from the newest checkpoint if asked to and there is one.
  Run(Task& task, const TrainerOptions& options);
  TrainingSummary train(const ProgressCallback& progress);

 private:
  void resume();
  void restore(std::int64_t step);
  void check_settings(const Metadata& saved, const std::string& where) const;
  void train_epoch(std::int64_t epoch, Progress& progress);
  void train_step(std::int64_t epoch, std::int64_t step_in_epoch);
  void combine_processes(double& loss, Metrics& scores);
  bool is_first() const { return !options_.processes || options_.processes->is_first(); }
  void update(double learning_rate);
  void count(double loss, const Metrics& scores);
  void skip(double loss, double norm);
  /// Means since the last row of the log; there must be a step since.
  std::string scores_text() const;
  void log_step(std::int64_t epoch, double learning_rate);
  void log_norms(const Metrics& inner);
  void finish_epoch(std::int64_t epoch);
  void evaluate(std::int64_t epoch);
  void consider_best(const Metrics& metrics, bool average);
  void save_checkpoint();
  Metadata run_metadata() const;
  std::int64_t last_step() const;
  /// Whether limits of the gradient norm count already.
  bool guarded() const { return step_ >= options_.guard_after; }
  bool stops_here() const { return step_ >= last_step(); }

  Task& task_;
  TrainerOptions options_;
  std::int64_t steps_per_epoch_;
  NamedTensors parameters_, buffers_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<MovingAverage> average_;
  CheckpointStore store_;
  std::unique_ptr<RunLog> log_;

  std::int64_t step_ = 0;  ///< finished optimizer steps, skipped ones included
  std::int64_t skipped_ = 0;
  std::int64_t skipped_in_row_ = 0;
  std::int64_t saved_step_ = -1;
  double best_score_ = -1.0;
  bool cancelled_ = false;  ///< in any process
  std::chrono::steady_clock::time_point curves_written_{};
  double gradient_norm_ = 0.0;
  /// Since the last row of the log; a score may begin in between.
  struct Mean {
    double sum = 0.0;
    std::int64_t count = 0;
    double value() const { return sum / static_cast<double>(count); }
  };
  Mean loss_;
  std::vector<std::pair<std::string, Mean>> scores_;
  std::string last_row_;  ///< loss and scores of the last row, in words
  double step_seconds_ = 0.0;
  std::vector<at::Tensor> buffers_before_;
  TrainingSummary summary_;
};

/// Throws Error(interrupted) when cancellation was requested.
void check_cancelled();

}  // namespace ttt::training
