// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/cuda_graph/graph_runner.h"
#include "core/device.h"
#include "core/media/preprocess.h"
#include "vision/classification_output.h"
#include "vision/forward_context.h"
#include "vision/labels.h"
#include "vision/model_catalog.h"

#include <c10/core/ScalarType.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ttt::vision {

/// Where a classifier comes from and how it computes.
struct ClassifierOptions {
  std::string weights;      ///< weight file; empty only with random_weights
  std::string weights_key;  ///< dictionary of a checkpoint; empty: EMA first
  std::string model;        ///< preset; empty: recognised from the weights
  bool random_weights = false;
  std::uint64_t seed = 0;                          ///< of random weights
  std::vector<std::string> allow_missing;          ///< name patterns
  std::vector<std::string> allow_unexpected;       ///< name patterns
  c10::ScalarType dtype = c10::ScalarType::Float;  ///< Float, BFloat16 or Half
  c10::Device device{c10::DeviceType::CPU};
  CudaGraphMode cuda_graph = CudaGraphMode::automatic;
  std::shared_ptr<GraphRecorder> graph_recorder;  ///< null: CUDA graphs of LibTorch
};

/// Reads a type name: fp32/float32/f32, bf16/bfloat16, fp16/float16/half. Throws Error(usage).
c10::ScalarType parse_compute_dtype(std::string_view name);

/// A ready-to-run image classifier: model, weights, pre-processing defaults and class names.
/// run() may be called from one thread at a time, copies included: they share what passes leave.
class Classifier {
 public:
  /// Throws Error(weights) for a bad file, Error(usage) for an unknown preset or options that
  /// contradict each other, Error(device) or Error(memory).
  static Classifier load(const ClassifierOptions& options);

  const ModelSpec& spec() const { return spec_; }
  /// Path, dictionary and content hash of the weights, for logs and run records; null for random
  /// ones.
  const WeightFile* weights() const { return weights_ ? &*weights_ : nullptr; }
  /// Size, crop, mean and std from the file's metadata (our own safetensors), else the published
  /// values: 224×224, 0.875, ImageNet mean and std. `preprocess_origin()` says which.
  const PreprocessOptions& default_preprocess() const { return preprocess_; }
  const std::string& preprocess_origin() const { return preprocess_origin_; }
  /// Labels of the file's metadata, else ImageNet's for 1000 classes, else "class N".
  const LabelSet& default_labels() const { return labels_; }
  std::int64_t parameter_count() const;
  c10::Device device() const { return device_; }
  /// Throws Error(usage), naming the nearest legal size, when the model can't take such pictures.
  void check_size(std::int64_t width, std::int64_t height) const;

  /// images [B,3,H,W] fp32, normalised, on the CPU. Logits and features return as fp32 on the CPU.
  /// On GPUs, shapes that come again run as CUDA graphs, unless a trace or reports are wanted.
  /// Throws Error(usage) for a size that the model can't take, Error(memory) when memory runs out.
  ClassificationOutput run(const at::Tensor& images, const ForwardContext& context = {}) const;

 private:
  struct Passes;

  Classifier() = default;
  /// On the device, in the model's type.
  ClassificationOutput forward(const at::Tensor& images, ForwardContext context) const;

  ModelSpec spec_;
  std::optional<WeightFile> weights_;
  PreprocessOptions preprocess_;
  std::string preprocess_origin_;
  LabelSet labels_;
  std::shared_ptr<ClassificationModel> model_;
  c10::ScalarType dtype_ = c10::ScalarType::Float;
  c10::Device device_{c10::DeviceType::CPU};
  std::shared_ptr<Passes> passes_;
};

/// Bytes that classifying batches of this size needs at its peak, weights included: what --dry-run
/// prints. An estimate from tensor sizes, without the program and its libraries.
std::int64_t estimate_memory(const ModelSpec& spec, std::int64_t batch, std::int64_t width,
                             std::int64_t height, c10::ScalarType dtype,
                             ops::Backend backend = ops::Backend::automatic);

/// The same of a training step with AdamW; in bf16 and fp16 by autocast, the parameters are fp32.
std::int64_t estimate_training_memory(const ModelSpec& spec, std::int64_t batch, std::int64_t width,
                                      std::int64_t height, c10::ScalarType dtype,
                                      ops::Backend backend = ops::Backend::automatic);

}  // namespace ttt::vision
