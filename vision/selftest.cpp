// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/selftest.h"

#include "core/error.h"
#include "layers/holders.h"
#include "vision/classification_model.h"
#include "vision/model_catalog.h"

#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace ttt::vision {
namespace {

struct Entry {
  std::string_view name;
  ModelSpec spec;
  std::int64_t width, height;
  bool quick;
};

/// Presets at small sizes, and the shapes of configs/, which no preset has.
const std::array<Entry, 8>& entries() {
  static const std::array<Entry, 8> all{{
      {"cifar10_vit3",
       {Vit3Config{.dim = 128, .depth = 6, .heads = 4, .patch = 4, .classes = 10}},
       32,
       32,
       true},
      {"cifar10_hvit3",
       {HVit3Config{.dims = {32, 64, 128, 192},
                    .depths = {1, 2, 4, 1},
                    .heads = {1, 2, 4, 6},
                    .classes = 10}},
       64,
       64,
       true},
      {"vit3_t", find_preset("vit3_t").spec, 64, 48, true},
      {"hvit3_t", find_preset("hvit3_t").spec, 64, 32, true},
      {"vit3_s", find_preset("vit3_s").spec, 64, 48, false},
      {"vit3_b", find_preset("vit3_b").spec, 64, 96, false},
      {"hvit3_s", find_preset("hvit3_s").spec, 96, 64, false},
      {"hvit3_b", find_preset("hvit3_b").spec, 64, 96, false},
  }};
  return all;
}

const Entry& find_entry(std::string_view name) {
  for (const Entry& entry : entries())
    if (entry.name == name) return entry;
  throw Error(ErrorKind::usage, fmt::format("no model \"{}\" in the self-test", printable(name)),
              "--model", "`ttt selftest --help all` lists the models");
}

at::Generator generator() {
  return at::make_generator<at::CPUGeneratorImpl>(1);
}

/// Random weights of a size at which every branch counts. Fresh ones hide errors: the inner models
/// are next to nothing, biases are 0 and normalisations 1.
std::shared_ptr<ClassificationModel> random_model(const Entry& entry) {
  const auto model = entry.spec.build();
  model->initialize(0);
  const torch::NoGradGuard no_gradients;
  const at::Generator noise = generator();
  for (at::Tensor& parameter : model->parameters()) {
    if (parameter.dim() == 1) {
      parameter.add_(torch::randn(parameter.sizes(), noise), 0.1);
      continue;
    }
    const double inputs = parameter.size(0) == 1  // an inner model's [1, heads, d, d]
                              ? static_cast<double>(parameter.size(-1))
                              : static_cast<double>(parameter.numel() / parameter.size(0));
    const double deviation = parameter.std().item<double>();
    if (deviation > 0) parameter.mul_(1 / (deviation * std::sqrt(inputs)));
  }
  model->eval();
  return model;
}

/// Runs on one variant after moving the model there.
class Runner {
 public:
  Runner(std::shared_ptr<ClassificationModel> model, at::Tensor images)
      : model_(std::move(model)), images_(std::move(images)) {}

  /// As pictures are classified: with weights laid out for the variant.
  std::vector<at::Tensor> outputs(const ops::Variant& variant) {
    const c10::InferenceMode inference;
    const ClassificationOutput output = forward(variant, /*packed=*/true);
    return {output.logits.cpu(), output.features.cpu()};
  }

  std::vector<at::Tensor> gradients(const ops::Variant& variant) {
    const at::Tensor logits = forward(variant, /*packed=*/false).logits;
    const at::Tensor factors =
        torch::randn(logits.sizes(), generator()).to(logits.device(), logits.scalar_type());
    std::vector<at::Tensor> result;
    for (const at::Tensor& gradient :
         torch::autograd::grad({(logits * factors).sum()}, model_->parameters()))
      result.push_back(gradient.cpu());
    return result;
  }

  void prepare_for_inference() {
    model_->to(c10::Device(c10::DeviceType::CPU));
    model_->prepare_for_inference();
  }
  std::vector<std::string> parameter_names() const { return model_->named_parameters().keys(); }

 private:
  ClassificationOutput forward(const ops::Variant& variant, bool packed) {
    std::optional<ops::ScopedCpuIsa> scoped;
    if (variant.isa) scoped.emplace(*variant.isa);
    model_->to(variant.device);
    if (packed) layers::pack_for_inference(*model_);
    ForwardContext context;
    context.backend = variant.backend;
    return model_->forward(images_.to(variant.device), context);
  }

  std::shared_ptr<ClassificationModel> model_;
  at::Tensor images_;
};

double length_of(const at::Tensor& tensor) {
  return tensor.to(at::kDouble).norm().item<double>();
}

void compare_gradients(ops::CheckResult& result, const std::vector<at::Tensor>& actual,
                       const std::vector<at::Tensor>& expected,
                       const std::vector<std::string>& names, double tolerance) {
  // By norms, since a ReLU whose input is about 0 may open on one side only. Some gradients cancel
  // almost to nothing and leave rounding: errors count relative to a part of the largest, at least.
  constexpr double kPart = 0.01;
  double largest = 0;
  for (const at::Tensor& gradient : expected) largest = std::max(largest, length_of(gradient));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double scale = std::max(length_of(expected[i]), kPart * largest);
    const double difference = length_of(actual[i].to(at::kDouble) - expected[i]);
    ops::Deviation deviation{expected[i].scalar_type(), difference / scale, tolerance,
                             "gradient of " + names[i]};
    // An infinite norm gives NaN, which counts as infinite.
    if (!std::isfinite(difference)) deviation.where += ", not finite";
    ops::record(result.gradients, deviation);
  }
}

struct Tolerances {
  double outputs, gradients;
};

/// What models make of the ops' own differences, with a margin for other processors. In bfloat16
/// many a ReLU opens on one side only.
Tolerances tolerances(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? Tolerances{0.08, 0.5} : Tolerances{2e-5, 1e-2};
}

}  // namespace

std::vector<CheckedModel> checked_models() {
  std::vector<CheckedModel> models;
  for (const Entry& entry : entries())
    models.push_back({entry.name,
                      fmt::format("{}, {}x{}", entry.spec.name(), entry.width, entry.height),
                      entry.quick});
  return models;
}

std::vector<at::ScalarType> checked_model_types() {
  return {at::kFloat, at::kBFloat16};
}

std::vector<ops::CheckResult> check_model(std::string_view name, at::ScalarType dtype,
                                          const std::vector<ops::Variant>& variants) {
  const Entry& entry = find_entry(name);
  constexpr std::int64_t kPictures = 2;
  const Tolerances allowed = tolerances(dtype);
  std::vector<ops::CheckResult> results(variants.size());
  const auto model = random_model(entry);
  model->to(dtype);
  Runner runner(model,
                torch::randn({kPictures, 3, entry.height, entry.width}, generator()).to(dtype));
  const std::vector<std::string> names = runner.parameter_names();
  // Compares what `run` returns with the reference's.
  const auto compare_all = [&](const auto& run, const auto& compare) {
    std::vector<at::Tensor> expected;
    const std::string failure =
        ops::failure_of([&] { expected = run(ops::Variant{.backend = ops::Backend::reference}); });
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const std::string problem =
          failure.empty()
              ? ops::failure_of([&] { compare(results[i], run(variants[i]), expected); })
              : "the reference failed: " + failure;
      if (results[i].problem.empty()) results[i].problem = problem;
    }
  };
  // Gradients first: a model prepared for inference has none.
  compare_all([&](const ops::Variant& variant) { return runner.gradients(variant); },
              [&](ops::CheckResult& result, const auto& actual, const auto& expected) {
                compare_gradients(result, actual, expected, names, allowed.gradients);
              });
  runner.prepare_for_inference();
  compare_all([&](const ops::Variant& variant) { return runner.outputs(variant); },
              [&](ops::CheckResult& result, const auto& actual, const auto& expected) {
                ++result.cases;
                ops::record(result.outputs, actual[0], expected[0], allowed.outputs, "logits");
                ops::record(result.outputs, actual[1], expected[1], allowed.outputs, "features");
              });
  return results;
}

}  // namespace ttt::vision
