// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/classifier.h"

#include "core/error.h"
#include "core/log.h"
#include "layers/holders.h"
#include "layers/module_weights.h"
#include "vision/classification_model.h"
#include "vision/rope_tables.h"
#include "vision/weights_metadata.h"

#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

#include <new>
#include <string_view>

namespace ttt::vision {
namespace {

constexpr std::int64_t kImageNetClasses = 1000;

/// The sentence that helps when weights and --model don't agree.
std::string suggest(const std::optional<ModelSpec>& recognized, const std::string& asked) {
  if (!recognized) return "`ttt inspect` shows what the file holds";
  const std::string name = recognized->name();
  if (name == asked) return "the file seems to be an incomplete or changed " + name;
  if (name.find(' ') == std::string::npos)
    return "these are the keys of " + name + "; use --model " + name;
  return "these are the keys of " + name + "; leave out --model";
}

/// The architecture to build for a weight file.
ModelSpec resolve_spec(const WeightFile& file, const std::string& preset,
                       const std::optional<ModelSpec>& recognized) {
  if (preset.empty()) {
    const std::string other = recognized ? "" : describe_weights({file.tensors()});
    TTT_CHECK(recognized, weights,
              "these are not the weights of a ViT3 or H-ViT3 classifier" +
                  (other.empty() ? "" : " but of " + other),
              printable(file.path().string()), suggest(recognized, preset));
    return *recognized;
  }
  ModelSpec spec = find_preset(preset).spec;
  // A fine-tuned model keeps the preset's body and has a head of its own size.
  const TensorInfo* head = file.find("head.weight");
  if (head != nullptr && head->shape.size() == 2 && head->shape[0] > 0)
    spec.set_classes(head->shape[0]);
  // What the inner models learn by can't be seen in the tensors, so the file has the word.
  if (recognized) spec.set_inner(recognized->inner());
  return spec;
}

bool is_out_of_memory(const std::string& message) {
  return message.find("out of memory") != std::string::npos ||
         message.find("not enough memory") != std::string::npos ||
         message.find("can't allocate memory") != std::string::npos;
}

/// What a graph depends on besides the pictures' shape.
std::string graph_variant(const ForwardContext& context) {
  return fmt::format("{} {} {}", ops::to_string(context.backend), context.inner_update,
                     static_cast<int>(context.inner_gradients));
}

/// A pass that says more than its result can't be replayed.
bool can_repeat(const ForwardContext& context) {
  return !context.trace && context.reports == nullptr && !context.branch_factors.defined();
}

}  // namespace

/// What passes leave to later ones.
struct Classifier::Passes {
  GraphRunner graphs;
  std::shared_ptr<RopeTables> rope_tables = std::make_shared<RopeTables>();
};

c10::ScalarType parse_compute_dtype(std::string_view name) {
  if (name == "fp32" || name == "float32" || name == "f32") return c10::ScalarType::Float;
  if (name == "bf16" || name == "bfloat16") return c10::ScalarType::BFloat16;
  if (name == "fp16" || name == "float16" || name == "half") return c10::ScalarType::Half;
  throw Error(ErrorKind::usage, "unknown type \"" + printable(name) + "\"", "--dtype",
              "use fp32, bf16 or fp16");
}

Classifier Classifier::load(const ClassifierOptions& options) {
  TTT_CHECK(!(options.random_weights && !options.weights.empty()), usage,
            "random weights and a weight file exclude each other", "--random-weights, --weights",
            "give one of them");
  Classifier result;
  result.passes_ = std::make_shared<Passes>(
      Passes{{options.cuda_graph, options.device, options.graph_recorder}});
  result.dtype_ = options.dtype;
  result.device_ = options.device;
  result.preprocess_origin_ = "published default";
  if (options.random_weights) {
    TTT_CHECK(!options.model.empty(), usage, "random weights need a model", "--random-weights",
              "add --model, for example --model vit3_t");
    result.spec_ = find_preset(options.model).spec;
    result.model_ = result.spec_.build();
    result.model_->initialize(options.seed);
  } else {
    TTT_CHECK(!options.weights.empty(), usage, "no weights were given", "--weights",
              "give a checkpoint with --weights FILE, or --model NAME --random-weights for a test");
    const WeightFile file = WeightFile::open(options.weights, {options.weights_key});
    const std::optional<ModelSpec> recognized =
        recognize_model({file.tensors(), file.metadata(), options.weights});
    result.spec_ = resolve_spec(file, options.model, recognized);
    result.model_ = result.spec_.build();
    const LoadOptions load{.allow_missing = options.allow_missing,
                           .allow_unexpected = options.allow_unexpected,
                           .ignored = ignored_tensors(),
                           .suggestion = [&] { return suggest(recognized, result.spec_.name()); }};
    const LoadReport report = load_state_dict(file, layers::parameter_slots(*result.model_), load);
    log_debug("{}", summary(report));
    result.weights_ = file;
    if (const auto stored = read_preprocess_metadata(file.metadata(), options.weights)) {
      result.preprocess_ = *stored;
      result.preprocess_origin_ = "weight file";
    }
    if (auto names = read_label_metadata(file.metadata(), options.weights); !names.empty())
      result.labels_ = LabelSet::from_names(std::move(names));
  }
  if (result.labels_.size() == 0 && result.spec_.classes() == kImageNetClasses)
    result.labels_ = LabelSet::imagenet();
  result.model_->eval();
  result.model_->prepare_for_inference();
  result.model_->to(options.device, options.dtype);
  layers::pack_for_inference(*result.model_);
  return result;
}

void Classifier::check_size(std::int64_t width, std::int64_t height) const {
  check_image_size(width, height, model_->size_multiple());
}

std::int64_t Classifier::parameter_count() const {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : model_->parameters()) count += parameter.numel();
  return count;
}

ClassificationOutput Classifier::forward(const at::Tensor& images, ForwardContext context) const {
  // A graph keeps the tables that it reads; a new list begins before one grows too long.
  if (passes_->rope_tables->full()) passes_->rope_tables = std::make_shared<RopeTables>();
  context.rope_tables = passes_->rope_tables;
  if (!can_repeat(context)) return model_->forward(images.to(device_), context);
  const auto function = [model = model_, context](const GraphRunner::Tensors& inputs) {
    const ClassificationOutput output = model->forward(inputs[0], context);
    return GraphRunner::Tensors{output.logits, output.features};
  };
  const GraphRunner::Tensors outputs =
      passes_->graphs.run(function, {images}, graph_variant(context));
  return {outputs[0], outputs[1]};
}

ClassificationOutput Classifier::run(const at::Tensor& images,
                                     const ForwardContext& context) const {
  const c10::InferenceMode inference;
  try {
    const ClassificationOutput output = forward(images, context);
    return {output.logits.to(at::kCPU, at::kFloat), output.features.to(at::kCPU, at::kFloat)};
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::memory, "not enough memory for a batch", "", "give a smaller --batch");
  } catch (const c10::Error& error) {
    if (!is_out_of_memory(error.what_without_backtrace())) throw;
    throw Error(ErrorKind::memory, "not enough memory for a batch", "", "give a smaller --batch");
  }
}

}  // namespace ttt::vision
