// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/train/setup.h"

#include "apps/common/memory.h"
#include "apps/train/classification.h"
#include "apps/train/novel_views.h"
#include "core/error.h"
#include "core/log.h"
#include "core/seed.h"
#include "training/ema.h"

#include <ATen/Parallel.h>
#include <torch/nn/module.h>

#include <algorithm>

namespace ttt::cli {
namespace {

training::TrainerOptions trainer_options_of(const TrainOptions& options, std::uint64_t seed,
                                            std::shared_ptr<training::ProcessGroup> processes) {
  const std::int64_t global_batch =
      options.batch * options.accumulate * (processes ? processes->size() : 1);
  training::TrainerOptions result{.folder = options.output,
                                  .seed = seed,
                                  .epochs = options.epochs,
                                  .accumulate = options.accumulate,
                                  .schedule = {.base = options.learning_rate.value(),
                                               .warmup_start = options.warmup_learning_rate.value(),
                                               .minimum = options.min_learning_rate.value()},
                                  .warmup_epochs = options.warmup_epochs.value()};
  if (options.scale_learning_rate)
    result.schedule = training::scaled_to_batch(result.schedule, global_batch);
  result.optimizer.kind =
      options.optimizer == "muon" ? training::OptimizerKind::muon : training::OptimizerKind::adamw;
  result.optimizer.weight_decay = options.weight_decay.value();
  result.optimizer.beta2 = options.beta2.value();
  result.schedule.after_warmup = options.cosine == "after-warmup";
  result.clip_norm = options.clip_norm.value();
  result.skip_norm = options.skip_norm.value();
  result.guard_after = options.guard_after;
  if (options.ema_decay)
    result.ema_decay = options.scale_ema_decay
                           ? training::decay_for_batch(*options.ema_decay, global_batch)
                           : *options.ema_decay;
  result.checkpoint_steps = options.checkpoint_steps;
  result.checkpoint_epochs = options.checkpoint_epochs;
  result.keep_checkpoints = options.keep_checkpoints;
  result.evaluate_epochs = options.evaluate_epochs;
  result.log_steps = options.log_steps;
  result.norms_steps = options.norms_steps;
  result.max_steps = options.max_steps;
  result.resume = options.resume;
  result.processes = std::move(processes);
  return result;
}

/// Each process of a machine takes a GPU of its own, unless one was named.
DeviceChoice device_of(const TrainOptions& options, const training::ProcessGroup* processes) {
  const DeviceChoice choice = choose_device(options.device);
  const bool named = options.device != "auto" && options.device != "cuda";
  if (processes == nullptr || named || !choice.device.is_cuda()) return choice;
  return choose_device("cuda:" + std::to_string(training::ProcessGroup::local_rank()));
}

}  // namespace

std::vector<std::string> comma_parts(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

TrainSetup set_up_training(const TrainOptions& options) {
  if (options.threads) at::set_num_threads(static_cast<int>(*options.threads));
  const auto processes = training::ProcessGroup::from_environment();
  TTT_CHECK(!processes || options.seed >= 0, usage, "several processes need one seed", "--seed",
            "choose a seed that isn't negative");
  TrainSetup setup{.device = device_of(options, processes.get())};
  setup.trainer = trainer_options_of(options, choose_seed(options.seed), processes);
  setup.averaged = setup.trainer.ema_decay && !options.overfit_one_batch;
  if (trains_novel_views(options))
    set_up_novel_views(setup, options);
  else
    set_up_classification(setup, options);
  for (const at::Tensor& parameter : setup.task->model().parameters())
    setup.parameters += parameter.numel();
  return setup;
}

void check_memory(const TrainSetup& setup, const TrainOptions& options) {
  if (setup.step_memory == 0) return;
  require_memory(
      setup.step_memory,
      fmt::format("steps of {} {} of {}", options.batch, setup.unit, to_string(setup.size)),
      "--batch, --size", "use a smaller --batch with --accumulate, or --recompute");
}

void announce(const TrainSetup& setup, const TrainOptions& options) {
  log_info("{}, {:.2f} M parameters, {}, {}", setup.model,
           static_cast<double>(setup.parameters) / 1e6, to_string(setup.size), options.dtype);
  log_info("{}", setup.data);
  log_info("{} epochs of {} steps of {} {}, learning rate {:.3g}, seed {}", options.epochs,
           setup.task->batches_per_epoch() / options.accumulate, options.batch * options.accumulate,
           setup.unit, setup.trainer.schedule.base, setup.trainer.seed);
  if (setup.trainer.processes)
    log_info("process {} of {}", setup.trainer.processes->rank(), setup.trainer.processes->size());
}

}  // namespace ttt::cli
