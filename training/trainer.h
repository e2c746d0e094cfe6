// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/progress.h"
#include "training/checkpoints.h"
#include "training/optimizer.h"
#include "training/process_group.h"
#include "training/schedule.h"

#include <memory>
#include <optional>
#include <utility>

namespace ttt::training {

using Metrics = std::vector<std::pair<std::string, double>>;

/// Which batch of this process is due.
struct BatchPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;     ///< in the epoch
  std::int64_t step = 0;      ///< optimizer steps finished before this batch
  double loss_scale = 1.0;    ///< multiplies the loss before the backward pass (accumulation)
  bool report_norms = false;  ///< fill BatchResult::norms
};

struct BatchResult {
  double loss = 0;  ///< unscaled mean over the batch
  /// Inner-loop norms and losses by layer, such as {"blocks.0.attn/gated_linear_loss_before", 0.1}.
  Metrics norms;
  /// What the log shows beside the loss, such as {"psnr", 21.3}; the same names in every process.
  Metrics scores;
};

/// What is trained: a model, its data and its loss. The trainer knows nothing else about it.
class Task {
 public:
  virtual ~Task() = default;
  virtual torch::nn::Module& model() = 0;
  /// A second instance of the model for the moving average; null for none.
  virtual torch::nn::Module* average() = 0;
  virtual std::int64_t batches_per_epoch() const = 0;
  /// Tells where the coming calls of forward_backward start, so that data can be prepared ahead.
  virtual void start_epoch(std::int64_t epoch, std::int64_t first_batch) = 0;
  /// Adds the gradients of one batch to the parameters' gradients.
  virtual BatchResult forward_backward(const BatchPosition& position) = 0;
  /// Scores of the model, or of its average, on held-out data; empty without any. The first one
  /// decides which checkpoint is the best (higher is better).
  virtual Metrics evaluate(bool average, const ProgressCallback& progress) = 0;
  /// What programs that load the model need to know (size, labels, …).
  virtual Metadata model_metadata() const = 0;
  /// Settings that a resumed run must share with the original one.
  virtual Metadata fixed_settings() const = 0;
};

struct TrainerOptions {
  std::filesystem::path folder;  ///< of the run; created
  std::uint64_t seed = 0;
  std::int64_t epochs = 300;
  std::int64_t accumulate = 1;  ///< batches per optimizer step
  WarmupCosine schedule;        ///< steps filled in by the trainer from epochs and warmup_epochs
  double warmup_epochs = 20;
  OptimizerOptions optimizer;
  double clip_norm = 5.0;             ///< 0: no clipping
  double skip_norm = 0;               ///< steps with a larger gradient norm are left out; 0: none
  std::int64_t guard_after = 0;       ///< steps before clip_norm and skip_norm count
  std::optional<double> ema_decay;    ///< per step
  std::int64_t checkpoint_steps = 0;  ///< also save every so many steps; 0: at the end of epochs
  std::int64_t checkpoint_epochs = 1;
  std::int64_t evaluate_epochs = 1;  ///< the last epoch is always evaluated
  std::int64_t keep_checkpoints = 3;
  std::int64_t log_steps = 20;
  std::int64_t norms_steps = 0;          ///< 0: no norms by layer
  std::int64_t max_steps = 0;            ///< stop after so many steps of the run; 0: no limit
  std::int64_t max_skipped_in_row = 50;  ///< left out steps in a row before giving up
  bool resume = false;
  std::shared_ptr<ProcessGroup> processes;  ///< null for one process
};

struct TrainingSummary {
  std::int64_t steps = 0;
  std::int64_t skipped_steps = 0;
  std::optional<double> last_loss;   ///< none when a finished run was resumed
  Metrics evaluation;                ///< the last one of the trained weights
  Metrics average_evaluation;        ///< the last one of the average
  std::filesystem::path checkpoint;  ///< the last model file
};

/// Trains until the last epoch. A cancelled run (core/cancel.h) saves a checkpoint and throws
/// Error(interrupted). Throws Error(check) when the loss stays non-finite, Error(usage) when a
/// resumed run was started with other settings. With several processes, gradients are averaged over
/// them; the first one alone evaluates and writes.
TrainingSummary train(Task& task, const TrainerOptions& options, const ProgressCallback& progress);

struct OverfitResult {
  double first_loss = 0;
  double last_loss = 0;
  std::int64_t steps = 0;
};

/// Trains on the first batch alone, with the base learning rate: a model and trainer that work
/// bring its loss close to zero. Throws Error(check) unless it falls below a tenth of where it
/// began.
OverfitResult overfit_one_batch(Task& task, const TrainerOptions& options, std::int64_t steps,
                                const ProgressCallback& progress);

}  // namespace ttt::training
