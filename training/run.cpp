// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/run.h"

#include "core/atomic_file.h"
#include "core/cancel.h"
#include "core/error.h"
#include "core/log.h"
#include "core/weights/weight_file.h"

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

namespace ttt::training {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view kWeightsPrefix = "weights/";
constexpr std::string_view kSettingPrefix = "setting.";
constexpr std::chrono::seconds kCurvesInterval{30};

NamedTensors with_prefix(std::string_view prefix, NamedTensors tensors) {
  for (NamedTensor& item : tensors) item.name.insert(0, prefix);
  return tensors;
}

template <typename Number>
Number number(const Metadata& metadata, const std::string& key, const std::string& where) {
  const auto found = metadata.find(key);
  TTT_CHECK(found != metadata.end(), weights, "the checkpoint doesn't say its \"" + key + "\"",
            where, "it was not written by `ttt train`");
  const std::string& text = found->second;
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  TTT_CHECK(error == std::errc{} && end == text.data() + text.size(), weights,
            "the checkpoint's \"" + key + "\" is no number", where,
            "the file is damaged; an earlier checkpoint may be whole");
  return value;
}

WarmupCosine complete(WarmupCosine schedule, const TrainerOptions& options,
                      std::int64_t steps_per_epoch) {
  const auto per_epoch = static_cast<double>(steps_per_epoch);
  schedule.warmup_steps = static_cast<std::int64_t>(options.warmup_epochs * per_epoch);
  schedule.total_steps = options.epochs * steps_per_epoch;
  return schedule;
}

/// sum += factor * scores, name by name.
void add_scores(const Metrics& scores, double factor, Metrics& sum) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (i == sum.size()) sum.emplace_back(scores[i].first, 0.0);
    sum[i].second += factor * scores[i].second;
  }
}

}  // namespace

void check_cancelled() {
  TTT_CHECK(!cancel_requested(), interrupted, "interrupted");
}

Run::Run(Task& task, const TrainerOptions& options)
    : task_(task),
      options_(options),
      steps_per_epoch_(task.batches_per_epoch() / options.accumulate),
      parameters_(trainable_parameters(task.model())),
      buffers_(buffers(task.model())),
      optimizer_(make_optimizer(parameters_, options.optimizer)),
      store_(options.folder / "checkpoints", options.keep_checkpoints) {
  TTT_CHECK(steps_per_epoch_ > 0, usage,
            fmt::format("an epoch has {} batches, fewer than one step takes ({})",
                        task.batches_per_epoch(), options.accumulate),
            "--batch", "use a smaller batch or more data");
  options_.schedule = complete(options.schedule, options, steps_per_epoch_);
  if (task.average() != nullptr)
    average_ = std::make_unique<MovingAverage>(task.model(), *task.average(),
                                               options.ema_decay.value_or(0.9996));
  if (is_first()) check_writable(store_.model_path(0), /*overwrite=*/true);
  if (options.resume) {
    resume();
  } else if (is_first()) {
    store_.clear();
  }
  if (is_first()) log_ = std::make_unique<RunLog>(options.folder, step_ > 0 ? step_ : -1);
}

std::int64_t Run::last_step() const {
  const std::int64_t all = options_.epochs * steps_per_epoch_;
  return options_.max_steps > 0 ? std::min(all, options_.max_steps) : all;
}

void Run::resume() {
  std::vector<std::int64_t> steps = store_.steps();
  std::string problem;
  for (; !steps.empty(); steps.pop_back()) {
    try {
      restore(steps.back());
      log_info("resumed from step {} of {}", step_, options_.epochs * steps_per_epoch_);
      return;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::weights) throw;
      log_warning("checkpoint of step {} skipped: {}", steps.back(), error.what());
      problem = error.what();
    }
  }
  TTT_CHECK(problem.empty(), weights, "no checkpoint of the run can be read: " + problem,
            printable(options_.folder.string()), "--overwrite starts the run anew");
}

void Run::restore(std::int64_t step) {
  const WeightFile state = WeightFile::open(store_.state_path(step));
  const WeightFile model = WeightFile::open(store_.model_path(step));
  const std::string where = printable(state.path().string());
  check_settings(state.metadata(), where);
  if (average_) {
    restore_tensors(model, state_dict(*task_.average()));
    restore_tensors(state, with_prefix(kWeightsPrefix, state_dict(task_.model())));
  } else {
    restore_tensors(model, state_dict(task_.model()));
  }
  restore_tensors(state, optimizer_->state());
  step_ = saved_step_ = number<std::int64_t>(state.metadata(), "step", where);
  skipped_ = number<std::int64_t>(state.metadata(), "skipped_steps", where);
  skipped_in_row_ = number<std::int64_t>(state.metadata(), "skipped_in_row", where);
  best_score_ = number<double>(state.metadata(), "best_score", where);
}

void Run::check_settings(const Metadata& saved, const std::string& where) const {
  const Metadata current = run_metadata();
  const auto setting = [](const Metadata& metadata, const std::string& key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? "absent" : found->second;
  };
  Metadata all = saved;  // a setting may be missing on either side
  all.insert(current.begin(), current.end());
  for (const auto& [key, ignored] : all) {
    if (!key.starts_with(kSettingPrefix)) continue;
    const std::string before = setting(saved, key), now = setting(current, key);
    TTT_CHECK(before == now, usage,
              fmt::format("the run was started with {} = {}, now it is {}",
                          key.substr(kSettingPrefix.size()), printable(before), printable(now)),
              where, "restore that setting, or start anew with --overwrite");
  }
}

Metadata Run::run_metadata() const {
  Metadata metadata{{"step", std::to_string(step_)},
                    {"skipped_steps", std::to_string(skipped_)},
                    {"skipped_in_row", std::to_string(skipped_in_row_)},
                    {"best_score", fmt::format("{:.17g}", best_score_)}};
  const auto setting = [&](const std::string& key, std::string value) {
    metadata[std::string(kSettingPrefix) + key] = std::move(value);
  };
  setting("seed", std::to_string(options_.seed));
  setting("epochs", std::to_string(options_.epochs));
  setting("accumulate", std::to_string(options_.accumulate));
  setting("steps per epoch", std::to_string(steps_per_epoch_));
  for (const auto& [key, value] : task_.fixed_settings()) setting(key, value);
  return metadata;
}

TrainingSummary Run::train(const ProgressCallback& callback) {
  Progress progress("train", std::max<std::int64_t>(0, last_step() - step_), callback);
  while (!stops_here()) train_epoch(step_ / steps_per_epoch_, progress);
  progress.finish();
  if (saved_step_ != step_) save_checkpoint();
  if (log_) log_->write_curves();
  summary_.steps = step_;
  summary_.skipped_steps = skipped_;
  summary_.checkpoint = store_.model_path(step_);
  if (skipped_ > 0) log_warning("{} of {} steps were skipped as not finite", skipped_, step_);
  return summary_;
}

void Run::train_epoch(std::int64_t epoch, Progress& progress) {
  std::int64_t step_in_epoch = step_ % steps_per_epoch_;
  task_.model().train();
  task_.start_epoch(epoch, step_in_epoch * options_.accumulate);
  for (; step_in_epoch < steps_per_epoch_ && !stops_here(); ++step_in_epoch) {
    train_step(epoch, step_in_epoch);
    progress.note(loss_.count > 0 ? scores_text() : last_row_);
    progress.advance();
    const bool epoch_ends = step_in_epoch + 1 == steps_per_epoch_;
    if (epoch_ends) finish_epoch(epoch);
    const bool due = options_.checkpoint_steps > 0 && step_ % options_.checkpoint_steps == 0;
    if ((due || cancelled_) && saved_step_ != step_) save_checkpoint();
    TTT_CHECK(!cancelled_, interrupted,
              fmt::format("training stopped after step {} of {}", step_, last_step()),
              printable(options_.folder.string()), "continue with --resume");
  }
}

void Run::train_step(std::int64_t epoch, std::int64_t step_in_epoch) {
  const auto start = std::chrono::steady_clock::now();
  buffers_before_.clear();
  for (const NamedTensor& buffer : buffers_) buffers_before_.push_back(buffer.tensor.clone());
  const double learning_rate = options_.schedule.at_step(step_);
  const bool norms = options_.norms_steps > 0 && step_ % options_.norms_steps == 0;
  double loss = 0;
  Metrics inner, scores;
  for (std::int64_t i = 0; i < options_.accumulate; ++i) {
    const BatchResult batch =
        task_.forward_backward({.epoch = epoch,
                                .batch = step_in_epoch * options_.accumulate + i,
                                .step = step_,
                                .loss_scale = 1.0 / static_cast<double>(options_.accumulate),
                                .report_norms = norms && i == 0});
    loss += batch.loss / static_cast<double>(options_.accumulate);
    if (i == 0) inner = batch.norms;
    add_scores(batch.scores, 1.0 / static_cast<double>(options_.accumulate), scores);
  }
  combine_processes(loss, scores);
  gradient_norm_ = gradient_norm(parameters_);
  if (norms && log_) log_norms(inner);
  const bool too_large = guarded() && options_.skip_norm > 0 && gradient_norm_ > options_.skip_norm;
  if (std::isfinite(loss) && std::isfinite(gradient_norm_) && !too_large) {
    update(learning_rate);
    count(loss, scores);
  } else {
    skip(loss, gradient_norm_);
  }
  clear_gradients(parameters_);
  ++step_;
  step_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (step_ % options_.log_steps == 0 || step_in_epoch + 1 == steps_per_epoch_)
    log_step(epoch, learning_rate);
}

void Run::combine_processes(double& loss, Metrics& scores) {
  cancelled_ = cancel_requested();
  if (!options_.processes) return;
  const auto size = static_cast<double>(options_.processes->size());
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& p : parameters_)
    if (p.tensor.grad().defined()) gradients.push_back(p.tensor.grad());
  options_.processes->sum(gradients);
  const torch::NoGradGuard no_grad;
  at::_foreach_div_(gradients, size);
  // A request to stop reaches one process only; all must stop after the same step.
  std::vector<double> values{loss, cancelled_ ? 1.0 : 0.0};
  for (const auto& [name, value] : scores) values.push_back(value);
  const at::Tensor shared = at::tensor(values, at::kDouble);
  options_.processes->sum(shared);
  cancelled_ = shared[1].item<double>() > 0;
  loss = shared[0].item<double>() / size;
  for (std::size_t i = 0; i < scores.size(); ++i)
    scores[i].second = shared[static_cast<std::int64_t>(i) + 2].item<double>() / size;
}

void Run::update(double learning_rate) {
  if (guarded() && options_.clip_norm > 0)
    clip_gradients(parameters_, gradient_norm_, options_.clip_norm);
  optimizer_->step(learning_rate);
  if (average_) average_->update();
  skipped_in_row_ = 0;
}

void Run::count(double loss, const Metrics& scores) {
  summary_.last_loss = loss;
  loss_.sum += loss;
  ++loss_.count;
  for (const auto& [name, value] : scores) {
    const std::string& wanted = name;
    auto at = std::find_if(scores_.begin(), scores_.end(),
                           [&](const auto& item) { return item.first == wanted; });
    if (at == scores_.end()) at = scores_.insert(at, {name, {}});
    at->second.sum += value;
    ++at->second.count;
  }
}

void Run::skip(double loss, double norm) {
  ++skipped_;
  ++skipped_in_row_;
  // The forward pass has already mixed its statistics into the batch norms.
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i].tensor.copy_(buffers_before_[i]);
  log_warning("step {} skipped: loss {}, gradient norm {} ({} skipped so far)", step_, loss, norm,
              skipped_);
  if (log_) log_->write({{"kind", "skipped"}, {"step", step_ + 1}});
  TTT_CHECK(skipped_in_row_ < options_.max_skipped_in_row, check,
            std::isfinite(loss) && std::isfinite(norm)
                ? fmt::format("the gradient norm was above {} for {} steps in a row",
                              options_.skip_norm, skipped_in_row_)
                : fmt::format("the loss was not finite for {} steps in a row", skipped_in_row_),
            fmt::format("step {}", step_),
            "lower --learning-rate, or resume from an earlier checkpoint");
}

std::string Run::scores_text() const {
  std::string text = fmt::format("loss {:.4g}", loss_.value());
  for (const auto& [name, mean] : scores_) text += fmt::format(", {} {:.4g}", name, mean.value());
  return text;
}

void Run::log_step(std::int64_t epoch, double learning_rate) {
  if (loss_.count == 0 || !log_) return;
  Json row{{"kind", "step"}, {"step", step_}, {"epoch", epoch}, {"loss", loss_.value()}};
  last_row_ = scores_text();
  for (const auto& [name, mean] : scores_) row[name] = mean.value();
  row["learning_rate"] = learning_rate;
  row["gradient_norm"] = gradient_norm_;
  row["skipped_steps"] = skipped_;
  row["seconds_per_step"] = step_seconds_ / static_cast<double>(loss_.count);
  log_->write(row);
  loss_ = {};
  scores_.clear();
  step_seconds_ = 0;
}

void Run::log_norms(const Metrics& inner) {
  Json gradients = Json::object(), inner_loop = Json::object();
  for (const auto& [module, norm] : gradient_norms_by_module(parameters_)) gradients[module] = norm;
  for (const auto& [name, value] : inner) inner_loop[name] = value;
  log_->write({{"kind", "norms"},
               {"step", step_},
               {"gradient_norms", std::move(gradients)},
               {"inner_loop", std::move(inner_loop)}});
}

void Run::finish_epoch(std::int64_t epoch) {
  if (!is_first()) return;
  const bool last = epoch + 1 == options_.epochs;
  if (last || (epoch + 1) % options_.evaluate_epochs == 0) evaluate(epoch);
  if (last || (epoch + 1) % options_.checkpoint_epochs == 0) save_checkpoint();
  // The files are made from the whole log: too much after epochs of a second.
  const auto now = std::chrono::steady_clock::now();
  if (now - curves_written_ < kCurvesInterval) return;
  log_->write_curves();
  curves_written_ = now;
}

void Run::evaluate(std::int64_t epoch) {
  Json row{{"kind", "evaluation"}, {"step", step_}, {"epoch", epoch + 1}};
  std::string line;
  for (const bool average : {false, true}) {
    if (average && !average_) continue;
    const Metrics metrics = task_.evaluate(average, {});
    if (metrics.empty()) return;
    const std::string prefix = average ? "ema_" : "";
    for (const auto& [name, value] : metrics) {
      row[prefix + name] = value;
      line += fmt::format(" {}{} {:.4f}", prefix, name, value);
    }
    consider_best(metrics, average);
    (average ? summary_.average_evaluation : summary_.evaluation) = metrics;
  }
  log_->write(row);
  log_info("epoch {} of {}: training {}; measured{}", epoch + 1, options_.epochs,
           last_row_.empty() ? "-" : last_row_, line);
  task_.model().train();
}

void Run::consider_best(const Metrics& metrics, bool average) {
  const double score = metrics.front().second;
  if (!(score > best_score_)) return;
  best_score_ = score;
  Metadata metadata = task_.model_metadata();
  metadata["step"] = std::to_string(step_);
  metadata[metrics.front().first] = fmt::format("{:.6f}", score);
  metadata["weights"] = average ? "moving average" : "trained";
  store_.save_best(state_dict(average ? *task_.average() : task_.model()), metadata);
}

void Run::save_checkpoint() {
  saved_step_ = step_;
  if (!is_first()) return;
  Checkpoint checkpoint{.step = step_, .state_metadata = run_metadata()};
  checkpoint.model = state_dict(average_ ? *task_.average() : task_.model());
  checkpoint.model_metadata = task_.model_metadata();
  checkpoint.model_metadata["step"] = std::to_string(step_);
  checkpoint.model_metadata["weights"] = average_ ? "moving average" : "trained";
  checkpoint.state = optimizer_->state();
  if (average_)
    for (NamedTensor& item : with_prefix(kWeightsPrefix, state_dict(task_.model())))
      checkpoint.state.push_back(std::move(item));
  store_.save(checkpoint);
}

}  // namespace ttt::training
