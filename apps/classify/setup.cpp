// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/classify/setup.h"

#include "apps/common/memory.h"
#include "apps/common/shared_options.h"
#include "apps/common/text.h"
#include "core/assets.h"
#include "core/log.h"
#include "core/seed.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <array>
#include <thread>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

void make_deterministic() {
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  at::globalContext().setDeterministicCuDNN(true);
  at::globalContext().setBenchmarkCuDNN(false);
  log_info("deterministic: the same numbers each time with the same --threads, --batch and device");
}

std::array<float, 3> to_float(const std::array<double, 3>& values) {
  std::array<float, 3> result{};
  std::transform(values.begin(), values.end(), result.begin(),
                 [](double value) { return static_cast<float>(value); });
  return result;
}

void resolve_preprocess(ClassifySetup& setup, const ClassifyOptions& options) {
  PreprocessOptions& preprocess = setup.job.preprocess;
  preprocess = setup.classifier.default_preprocess();
  setup.preprocess_origin = setup.classifier.preprocess_origin();
  std::vector<std::string> changed;
  if (options.size) {
    preprocess.width = options.size->width;
    preprocess.height = options.size->height;
    changed.emplace_back("size");
  }
  if (options.resize != "auto") {
    preprocess.rule = options.resize == "squash" ? ResizeRule::squash : ResizeRule::cover;
    changed.emplace_back("resize");
  }
  if (options.crop_pct) {
    preprocess.crop_percent = *options.crop_pct;
    changed.emplace_back("crop-pct");
  }
  if (options.mean) {
    preprocess.mean = to_float(*options.mean);
    changed.emplace_back("mean");
  }
  if (options.std) {
    preprocess.std = to_float(*options.std);
    changed.emplace_back("std");
  }
  if (!changed.empty())
    setup.preprocess_origin += fmt::format(", changed: {}", fmt::join(changed, ", "));
}

void resolve_labels(ClassifySetup& setup, const ClassifyOptions& options) {
  setup.labels = setup.classifier.default_labels();
  if (options.labels.empty()) return;
  setup.labels = vision::LabelSet::from_file(options.labels);
  const auto classes = static_cast<std::size_t>(setup.classifier.spec().classes());
  if (setup.labels.size() != classes)
    log_warning("{} labels for {} classes (--labels {})", setup.labels.size(), classes,
                printable(options.labels));
}

std::string numbers_text(const std::array<float, 3>& values) {
  return fmt::format("{:g},{:g},{:g}", values[0], values[1], values[2]);
}

std::string preprocess_text(const ClassifySetup& setup, const ClassifyOptions& options) {
  const PreprocessOptions& preprocess = setup.job.preprocess;
  const std::string rule = preprocess.rule == ResizeRule::squash
                               ? "squash"
                               : fmt::format("cover, crop-pct {:g}", preprocess.crop_percent);
  return fmt::format("{}x{}, {}, bicubic, mean {}, std {}, decode {} ({})", preprocess.width,
                     preprocess.height, rule, numbers_text(preprocess.mean),
                     numbers_text(preprocess.std), options.decode, setup.preprocess_origin);
}

/// What a user gets who names no model at all: something that works.
bool uses_shipped_weights(const ClassifyOptions& options) {
  return options.weights.empty() && options.model.empty() && !options.random_weights;
}

std::string weights_path(const ClassifyOptions& options) {
  return uses_shipped_weights(options) ? asset_path("cifar10_vit3.safetensors") : options.weights;
}

}  // namespace

DecodeMode decode_mode(const ClassifyOptions& options) {
  return options.decode == "official" ? DecodeMode::official : DecodeMode::photo;
}

ClassifySetup set_up(const ClassifyOptions& options, bool with_hash) {
  configure_torch(options.threads, options.tf32);
  if (options.deterministic) make_deterministic();
  const DeviceChoice device = choose_device(options.device);
  const CudaGraphMode cuda_graph = parse_cuda_graph_mode(options.cuda_graph);
  const std::uint64_t seed = choose_seed(options.seed);
  const c10::ScalarType dtype = vision::parse_compute_dtype(options.dtype);
  ClassifySetup setup{
      .classifier = vision::Classifier::load({.weights = weights_path(options),
                                              .weights_key = options.weights_key,
                                              .model = options.model,
                                              .random_weights = options.random_weights,
                                              .seed = seed,
                                              .allow_missing = options.allow_missing,
                                              .allow_unexpected = options.allow_unexpected,
                                              .dtype = dtype,
                                              .device = device.device,
                                              .cuda_graph = cuda_graph}),
      .device = device,
      .dtype = dtype,
      .seed = seed};
  if (const WeightFile* weights = setup.classifier.weights(); with_hash && weights != nullptr)
    setup.weights_hash =
        std::async(std::launch::async, [file = *weights] { return file.content_hash(); }).share();
  resolve_preprocess(setup, options);
  setup.classifier.check_size(setup.job.preprocess.width, setup.job.preprocess.height);
  resolve_labels(setup, options);
  setup.job.decode = decode_mode(options);
  // Inner reports are means over a batch; one picture per batch makes them the picture's own.
  setup.job.batch = options.inner_report ? 1 : options.batch;
  constexpr std::int64_t kMostWorkers = 16;  // each holds a picture
  setup.job.workers = options.workers.value_or(
      std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, kMostWorkers));
  setup.job.top_k = options.top_k;
  setup.job.stop_on_error = options.on_error == "stop";
  setup.job.context.backend = ops::parse_backend(options.backend);
  setup.job.context.inner_update = options.inner_update;
  return setup;
}

void announce(const ClassifySetup& setup, const ClassifyOptions& options, std::size_t pictures) {
  if (uses_shipped_weights(options))
    log_info(
        "no --weights: the shipped model, which knows the ten classes of CIFAR-10 and takes "
        "every picture for one of them");
  const WeightFile* weights = setup.classifier.weights();
  std::string source = fmt::format("random weights, seed {}", setup.seed);
  if (weights != nullptr) {
    source = printable(weights->path().string());
    if (!weights->weights_key().empty()) source += " [" + printable(weights->weights_key()) + "]";
  }
  log_info("model: {}, {:.1f} M parameters, {} classes, from {}", setup.classifier.spec().name(),
           static_cast<double>(setup.classifier.parameter_count()) / 1e6,
           setup.classifier.spec().classes(), source);
  log_info("pre-processing: {}", preprocess_text(setup, options));
  log_info("running: {} picture{} on {} ({}), backend {}, {}, {} threads, batch {}", pictures,
           pictures == 1 ? "" : "s", setup.device.device.str(), setup.device.reason,
           options.backend, options.dtype, at::get_num_threads(), setup.job.batch);
}

Json describe(const ClassifySetup& setup, const ClassifyOptions& options) {
  const PreprocessOptions& preprocess = setup.job.preprocess;
  const WeightFile* weights = setup.classifier.weights();
  Json result{
      {"model", setup.classifier.spec().name()},
      {"classes", setup.classifier.spec().classes()},
      {"weights", weights ? Json(utf8_text(weights->path().string())) : Json(nullptr)},
      {"weights_hash", setup.weights_hash.valid() ? Json(setup.weights_hash.get()) : Json(nullptr)},
      {"weights_key", weights ? Json(weights->weights_key()) : Json(nullptr)},
      {"seed", setup.seed},
      {"device", setup.device.device.str()},
      {"device_reason", setup.device.reason},
      {"backend", options.backend},
      {"dtype", options.dtype},
      {"tf32", options.tf32},
      {"cuda_graph", options.cuda_graph},
      {"deterministic", options.deterministic},
      {"threads", at::get_num_threads()},
      {"batch", setup.job.batch},
      {"workers", setup.job.workers},
      {"inner_update", options.inner_update}};
  const auto floats = [](const std::array<float, 3>& values) {
    Json list = Json::array();
    for (const float value : values) list.push_back(shortest(value));
    return list;
  };
  result["preprocess"] = {{"width", preprocess.width},
                          {"height", preprocess.height},
                          {"resize", preprocess.rule == ResizeRule::squash ? "squash" : "cover"},
                          {"crop_pct", preprocess.crop_percent},
                          {"mean", floats(preprocess.mean)},
                          {"std", floats(preprocess.std)},
                          {"decode", options.decode},
                          {"origin", setup.preprocess_origin}};
  return result;
}

std::int64_t memory_need(const ClassifySetup& setup, std::size_t pictures) {
  const auto batch = std::min(setup.job.batch, static_cast<std::int64_t>(pictures));
  return vision::estimate_memory(setup.classifier.spec(), std::max<std::int64_t>(batch, 1),
                                 setup.job.preprocess.width, setup.job.preprocess.height,
                                 setup.dtype, setup.job.context.backend);
}

void check_memory(const ClassifySetup& setup, std::size_t pictures) {
  if (setup.device.device.is_cuda()) return;
  const auto at_once = std::min(setup.job.batch, static_cast<std::int64_t>(pictures));
  require_memory(memory_need(setup, pictures),
                 fmt::format("{} pictures of {}x{} at once", at_once, setup.job.preprocess.width,
                             setup.job.preprocess.height),
                 "--batch, --size", at_once > 1 ? "use a smaller --batch" : "use a smaller --size");
}

}  // namespace ttt::cli
