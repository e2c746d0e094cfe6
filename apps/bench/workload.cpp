// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/workload.h"

#include "apps/bench/novel_views.h"
#include "apps/common/memory.h"
#include "core/error.h"
#include "kernels/registry.h"
#include "training/autocast.h"
#include "training/gradients.h"
#include "training/optimizer.h"
#include "vision/classification_model.h"
#include "vision/classifier.h"
#include "vision/operation_count.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

namespace ttt::cli {
namespace {

using Tensors = std::vector<at::Tensor>;

/// A backward pass has two products for each of the forward pass.
constexpr double kTrainingFactor = 3;
constexpr double kLearningRate = 1e-4;
constexpr double kClipNorm = 5;

void synchronize(c10::Device device) {
  if (device.type() == c10::DeviceType::CPU) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeDevice(device.index());
}

const ops::Op& find_op(const std::string& name) {
  for (const ops::Op& op : ops::registry())
    if (op.name == name) return op;
  throw Error(ErrorKind::internal, "no such operation", name);
}

ops::OpCase find_case(const ops::Op& op, const std::string& name) {
  for (ops::OpCase& op_case : op.cases())
    if (op_case.name == name) return op_case;
  throw Error(ErrorKind::internal, "no such call", name);
}

/// Pictures don't change how long a pass takes, but zeros might.
at::Tensor made_up_pictures(const Subject& subject) {
  return at::randn({subject.batch, 3, subject.height, subject.width},
                   at::make_generator<at::CPUGeneratorImpl>(0));
}

void check_free_memory(const Subject& subject, const vision::ModelSpec& spec, c10::Device device) {
  if (device.type() != c10::DeviceType::CPU) return;
  const auto estimate =
      subject.training ? vision::estimate_training_memory : vision::estimate_memory;
  require_memory(
      estimate(spec, subject.batch, subject.width, subject.height, subject.dtype, subject.backend),
      fmt::format("{} pictures of {}x{}", subject.batch, subject.width, subject.height),
      subject.name, "use a smaller --batch or --size");
}

double operations_of(const Subject& subject, const vision::ModelSpec& spec) {
  return static_cast<double>(subject.batch) *
         vision::count_operations(spec, subject.width, subject.height).value_or(0);
}

/// A model in training with what a step needs.
struct TrainingStep {
  std::shared_ptr<vision::ClassificationModel> model;
  training::NamedTensors parameters;
  std::unique_ptr<training::Optimizer> optimizer;
  at::Tensor images, targets;
  vision::ForwardContext context;
  at::ScalarType dtype = at::kFloat;

  void run() {
    // In the first pass, whose memory is measured: what the optimizer keeps is a part of training.
    if (!optimizer) optimizer = training::make_optimizer(parameters, {});
    training::clear_gradients(parameters);
    at::Tensor loss;
    {
      const training::AutocastGuard autocast(images.device().type(), dtype);
      const at::Tensor logits = model->forward(images, context).logits;
      loss = at::cross_entropy_loss(logits.to(at::kFloat), targets);
    }
    loss.backward();
    training::clip_gradients(parameters, training::gradient_norm(parameters), kClipNorm);
    optimizer->step(kLearningRate);
  }
};

}  // namespace

Workshop::Workshop(BenchPlan& plan)
    : device_(plan.device.device),
      cuda_graph_(plan.cuda_graph),
      novel_views_(std::make_shared<NovelViewShop>(
          device_, std::exchange(plan.novel_view_model, nullptr))) {}

Workload Workshop::make_op(const Subject& subject) const {
  const ops::OpCase op_case = find_case(find_op(subject.name), subject.op_case);
  Tensors inputs;
  for (const at::Tensor& input : op_case.inputs(subject.dtype)) {
    const at::Tensor there = ops::case_on_device(input, device_);
    inputs.push_back(subject.training ? there.detach().requires_grad_() : there);
  }
  const auto run = [=, device = device_, backend = subject.backend, training = subject.training] {
    if (training) {
      const Tensors outputs = op_case.run(inputs, backend);
      Tensors ones;
      for (const at::Tensor& output : outputs) ones.push_back(at::ones_like(output));
      torch::autograd::grad(outputs, inputs, ones);
    } else {
      const at::NoGradGuard no_gradients;
      op_case.run(inputs, backend);
    }
    synchronize(device);
  };
  if (subject.training) return {run};
  return {run, op_case.flops,
          op_case.elements * static_cast<double>(c10::elementSize(subject.dtype))};
}

Workload Workshop::make_forward(const Subject& subject) {
  const std::string key =
      fmt::format("{} {} {}", subject.name, subject.weights, bench_type_name(subject.dtype));
  if (loaded_ != key) {
    classifier_.reset();
    classifier_ = std::make_shared<vision::Classifier>(
        vision::Classifier::load({.weights = subject.weights,
                                  .model = subject.weights.empty() ? subject.name : "",
                                  .random_weights = subject.weights.empty(),
                                  .dtype = subject.dtype,
                                  .device = device_,
                                  .cuda_graph = cuda_graph_}));
    loaded_ = key;
  }
  check_free_memory(subject, classifier_->spec(), device_);
  vision::ForwardContext context;
  context.backend = subject.backend;
  const bool records = device_.is_cuda() && cuda_graph_ != CudaGraphMode::off;
  return {
      [classifier = classifier_, images = made_up_pictures(subject), context, device = device_] {
        classifier->run(images, context);
        synchronize(device);
      },
      operations_of(subject, classifier_->spec()), 0, records ? GraphRunner::kPlainPasses + 1 : 0};
}

Workload Workshop::make_training(const Subject& subject) const {
  const vision::ModelSpec spec =
      subject.weights.empty() ? vision::find_preset(subject.name).spec
                              : vision::Classifier::load({.weights = subject.weights}).spec();
  check_free_memory(subject, spec, device_);
  auto step = std::make_shared<TrainingStep>();
  step->model = spec.build();
  step->model->initialize(0);
  step->model->to(device_);
  step->model->train();
  step->parameters = training::trainable_parameters(*step->model);
  step->images = made_up_pictures(subject).to(device_);
  step->targets = at::arange(subject.batch, at::kLong).remainder(spec.classes()).to(device_);
  step->context.backend = subject.backend;
  step->dtype = subject.dtype;
  return {[step, device = device_] {
            step->run();
            synchronize(device);
          },
          kTrainingFactor * operations_of(subject, spec)};
}

Workload Workshop::make(const Subject& subject) {
  if (subject.is_op) return make_op(subject);
  if (subject.novel_views || subject.training) {
    classifier_.reset();
    loaded_.clear();
  }
  if (subject.novel_views) return novel_views_->make(subject);
  novel_views_->forget();
  if (!subject.training) return make_forward(subject);
  return make_training(subject);
}

}  // namespace ttt::cli
