// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/trainer.h"

#include "core/error.h"
#include "core/log.h"
#include "training/run.h"

#include <cmath>

namespace ttt::training {

TrainingSummary train(Task& task, const TrainerOptions& options, const ProgressCallback& progress) {
  Run run(task, options);
  return run.train(progress);
}

OverfitResult overfit_one_batch(Task& task, const TrainerOptions& options, std::int64_t steps,
                                const ProgressCallback& callback) {
  const NamedTensors parameters = trainable_parameters(task.model());
  const auto optimizer = make_optimizer(parameters, options.optimizer);
  OverfitResult result;
  Progress progress("overfit", steps, callback);
  for (std::int64_t i = 0; i < steps; ++i) {
    task.start_epoch(0, 0);
    const BatchResult batch = task.forward_backward({.step = i});
    const double norm = gradient_norm(parameters);
    TTT_CHECK(std::isfinite(batch.loss) && std::isfinite(norm), check,
              fmt::format("the loss or its gradient is not finite at step {}", i), "--overfit",
              "lower --learning-rate");
    if (options.clip_norm > 0) clip_gradients(parameters, norm, options.clip_norm);
    optimizer->step(options.schedule.base);
    clear_gradients(parameters);
    if (i == 0) result.first_loss = batch.loss;
    result.last_loss = batch.loss;
    result.steps = i + 1;
    progress.note(fmt::format("loss {:.4g}", batch.loss));
    progress.advance();
    check_cancelled();
  }
  TTT_CHECK(
      result.last_loss < 0.1 * result.first_loss, check,
      fmt::format("one batch could not be learnt by heart: its loss went from {:.4f} to {:.4f} "
                  "in {} steps",
                  result.first_loss, result.last_loss, steps),
      "--overfit", "try another --learning-rate, or more steps");
  return result;
}

}  // namespace ttt::training
