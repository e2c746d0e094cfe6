// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/training/classification_task.h"

#include "core/error.h"
#include "core/log.h"
#include "layers/holders.h"
#include "training/autocast.h"
#include "training/data_order.h"
#include "vision/accuracy.h"
#include "vision/drop_path.h"

#include <torch/torch.h>

namespace ttt::vision {
namespace {

using training::BatchPosition;
using training::BatchResult;
using training::Metrics;

/// Mean over the batch of -sum(targets * log softmax(logits)), in float.
at::Tensor soft_cross_entropy(const at::Tensor& logits, const at::Tensor& targets) {
  return -(targets * at::log_softmax(logits, 1)).sum(1).mean();
}

Metrics inner_metrics(const std::vector<InnerStepReport>& reports) {
  Metrics metrics;
  for (const InnerStepReport& report : reports)
    for (const InnerModelReport& model : report.models) {
      const std::string prefix = report.layer + "/" + model.model;
      metrics.emplace_back(prefix + "_loss_before", model.loss_before);
      metrics.emplace_back(prefix + "_loss_after", model.loss_after);
      metrics.emplace_back(prefix + "_gradient_norm", model.gradient_norm);
      metrics.emplace_back(prefix + "_update_ratio", model.update_ratio);
    }
  return metrics;
}

}  // namespace

ClassificationTask::ClassificationTask(std::shared_ptr<ClassificationModel> model,
                                       std::shared_ptr<ClassificationModel> average,
                                       std::shared_ptr<const LabelledImages> data,
                                       std::shared_ptr<const LabelledImages> held_out,
                                       const ClassificationTaskOptions& options)
    : model_(std::move(model)),
      average_(std::move(average)),
      data_(std::move(data)),
      held_out_(std::move(held_out)),
      options_(options) {
  TTT_CHECK(options.mesa == 0 || average_, usage,
            "MESA learns from the averaged model, and averaging is off", "--mesa",
            "set --ema-decay");
  model_->to(options.device);
  if (options.processes)
    layers::synchronize_batch_norms(
        *model_, [group = options.processes](const at::Tensor& tensor) { group->sum(tensor); });
  if (!average_) return;
  average_->to(options.device);
  average_->eval();
  for (at::Tensor& parameter : average_->parameters()) parameter.requires_grad_(false);
}

ClassificationTask::~ClassificationTask() = default;

std::int64_t ClassificationTask::batches_per_epoch() const {
  const std::int64_t processes = options_.processes ? options_.processes->size() : 1;
  return data_->size() / (options_.batch * processes);
}

std::int64_t ClassificationTask::joint_batch(std::int64_t batch) const {
  if (!options_.processes) return batch;
  return batch * options_.processes->size() + options_.processes->rank();
}

training::Metadata ClassificationTask::fixed_settings() const {
  training::Metadata settings{{"batch", std::to_string(options_.batch)},
                              {"training pictures", std::to_string(data_->size())},
                              {"classes", std::to_string(data_->classes().size())}};
  settings.insert(options_.fixed_settings.begin(), options_.fixed_settings.end());
  if (options_.processes) settings["processes"] = std::to_string(options_.processes->size());
  return settings;
}

void ClassificationTask::start_epoch(std::int64_t epoch, std::int64_t first_batch) {
  prefetch_.reset();
  auto order = training::epoch_order(data_->size(), options_.seed, epoch);
  prefetch_ = std::make_unique<training::OrderedPrefetch<Batch>>(
      batches_per_epoch() - first_batch,
      [this, epoch, first_batch, order = std::move(order)](std::int64_t i) {
        return make_batch(epoch, order, first_batch + i);
      },
      options_.workers);
}

std::pair<std::shared_ptr<const Image>, std::int64_t> ClassificationTask::load_or_replace(
    std::int64_t index) const {
  for (std::int64_t tries = 0; tries < data_->size(); ++tries) {
    const std::int64_t candidate = (index + tries) % data_->size();
    try {
      return {data_->load(candidate), data_->label(candidate)};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input && error.kind() != ErrorKind::unsupported) throw;
      ++unreadable_;
      log_warning("the next picture takes the place of an unreadable one: {}", error.what());
    }
  }
  throw Error(ErrorKind::input, "none of the training pictures can be read", "--data");
}

ClassificationTask::Batch ClassificationTask::make_batch(std::int64_t epoch,
                                                         const std::vector<std::int64_t>& order,
                                                         std::int64_t batch) const {
  const PreprocessOptions& size = options_.augment.preprocess;
  Batch result{at::empty({options_.batch, 3, size.height, size.width}, at::kFloat), {}};
  for (std::int64_t i = 0; i < options_.batch; ++i) {
    const std::int64_t index =
        order[static_cast<std::size_t>(joint_batch(batch) * options_.batch + i)];
    const auto [image, label] = load_or_replace(index);
    training::Random random(training::sample_seed(options_.seed, epoch, index));
    augment(*image, options_.augment, random,
            result.images.data_ptr<float>() + i * 3 * size.height * size.width);
    result.labels.push_back(label);
  }
  return result;
}

ForwardContext ClassificationTask::training_context(const BatchPosition& position,
                                                    std::int64_t batch_size) const {
  ForwardContext context{.backend = options_.backend, .recompute = options_.recompute};
  if (options_.drop_path > 0) {
    training::Random random(training::step_seed(
        options_.seed, "drop", joint_batch(position.epoch * batches_per_epoch() + position.batch)));
    context.branch_factors =
        draw_branch_factors(model_->blocks(), batch_size, options_.drop_path, random)
            .to(options_.device);
  }
  return context;
}

at::Tensor ClassificationTask::loss(const at::Tensor& logits, const at::Tensor& targets,
                                    const at::Tensor& images, std::int64_t epoch) const {
  const at::Tensor scores = logits.to(at::kFloat);
  const at::Tensor plain = soft_cross_entropy(scores, targets);
  const auto start =
      static_cast<std::int64_t>(options_.mesa_start * static_cast<double>(options_.epochs));
  if (options_.mesa == 0 || epoch < start) return plain;
  at::Tensor teacher;
  {
    const torch::NoGradGuard no_grad;
    teacher = average_->forward(images, {.backend = options_.backend}).logits;
  }
  return plain + options_.mesa * soft_cross_entropy(scores, at::softmax(teacher.to(at::kFloat), 1));
}

BatchResult ClassificationTask::forward_backward(const BatchPosition& position) {
  Batch batch = prefetch_->next();
  training::Random random(training::step_seed(
      options_.seed, "mix", joint_batch(position.epoch * batches_per_epoch() + position.batch)));
  const auto classes = static_cast<std::int64_t>(data_->classes().size());
  const at::Tensor targets =
      mix_batch(batch.images, batch.labels, classes, options_.mix, random).to(options_.device);
  const at::Tensor images = batch.images.to(options_.device);

  std::vector<InnerStepReport> reports;
  ForwardContext context = training_context(position, images.size(0));
  if (position.report_norms && !options_.recompute) context.reports = &reports;
  at::Tensor value;
  {
    const training::AutocastGuard autocast(options_.device.type(), options_.compute);
    value = loss(model_->forward(images, context).logits, targets, images, position.epoch);
  }
  (value * position.loss_scale).backward();
  return {value.item<double>(), inner_metrics(reports)};
}

ClassificationTask::Batch ClassificationTask::make_evaluation_batch(std::int64_t batch) const {
  const PreprocessOptions& size = options_.augment.preprocess;
  Batch result;
  const std::int64_t begin = batch * options_.batch;
  const std::int64_t end = std::min(begin + options_.batch, held_out_->size());
  at::Tensor images = at::empty({end - begin, 3, size.height, size.width}, at::kFloat);
  for (std::int64_t i = begin; i < end; ++i) {
    try {
      const Image image = resize_and_crop(*held_out_->load(i), size);
      normalize(image, size,
                images.data_ptr<float>() +
                    static_cast<std::int64_t>(result.labels.size()) * 3 * size.height * size.width);
      result.labels.push_back(held_out_->label(i));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input && error.kind() != ErrorKind::unsupported) throw;
      ++unreadable_;
      log_warning("left out of the evaluation: {}", error.what());
    }
  }
  result.images = images.narrow(0, 0, static_cast<std::int64_t>(result.labels.size()));
  return result;
}

Metrics ClassificationTask::evaluate(bool average, const ProgressCallback& callback) {
  if (!held_out_) return {};
  const torch::NoGradGuard no_grad;
  ClassificationModel& model = average ? *average_ : *model_;
  model.eval();
  const auto classes = static_cast<std::int64_t>(data_->classes().size());
  const std::int64_t batches = (held_out_->size() + options_.batch - 1) / options_.batch;
  Accuracy accuracy(classes);
  double loss = 0;
  Progress progress("evaluate", held_out_->size(), callback);
  training::OrderedPrefetch<Batch> prefetch(
      batches, [this](std::int64_t i) { return make_evaluation_batch(i); }, options_.workers);
  for (std::int64_t i = 0; i < batches; ++i) {
    const Batch batch = prefetch.next();
    if (batch.labels.empty()) continue;
    const at::Tensor logits =
        model.forward(batch.images.to(options_.device), {.backend = options_.backend})
            .logits.to(at::kCPU, at::kFloat);
    loss += soft_cross_entropy(logits, smoothed_targets(batch.labels, classes, 0)).item<double>() *
            static_cast<double>(batch.labels.size());
    const at::Tensor best =
        std::get<1>(logits.topk(std::min<std::int64_t>(5, classes), 1)).contiguous();
    for (std::size_t row = 0; row < batch.labels.size(); ++row) {
      const std::int64_t* first =
          best.const_data_ptr<std::int64_t>() + static_cast<std::int64_t>(row) * best.size(1);
      accuracy.add(batch.labels[row], {first, static_cast<std::size_t>(best.size(1))});
    }
    progress.advance(static_cast<std::int64_t>(batch.labels.size()));
  }
  if (accuracy.count() == 0) return {};
  return {{"top1", accuracy.top1()},
          {"top5", accuracy.top5()},
          {"validation_loss", loss / static_cast<double>(accuracy.count())}};
}

}  // namespace ttt::vision
