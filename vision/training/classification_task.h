// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training/ordered_prefetch.h"
#include "training/trainer.h"
#include "vision/classification_model.h"
#include "vision/training/augment.h"
#include "vision/training/labelled_images.h"
#include "vision/training/mixing.h"

#include <c10/core/Device.h>

#include <atomic>

namespace ttt::vision {

struct ClassificationTaskOptions {
  std::uint64_t seed = 0;
  std::int64_t epochs = 300;
  std::int64_t batch = 128;  ///< pictures per forward pass
  int workers = 1;           ///< threads that prepare batches; 0: the training thread does
  AugmentOptions augment;
  MixOptions mix;
  double drop_path = 0;                 ///< of the last block; linear from 0 in the first
  double mesa = 0;                      ///< weight of the average model's predictions; 0: off
  double mesa_start = 0.25;             ///< part of the epochs without MESA
  at::ScalarType compute = at::kFloat;  ///< bfloat16: autocast, parameters stay float
  bool recompute = false;               ///< keep block inputs only, run blocks twice
  ops::Backend backend = ops::Backend::automatic;
  c10::Device device{c10::DeviceType::CPU};
  std::shared_ptr<training::ProcessGroup> processes;  ///< null for one process
  /// What else a resumed run must have in common with its start.
  training::Metadata fixed_settings = {};
};

/// Image classification as a training task: soft-target cross-entropy on augmented, mixed pictures.
class ClassificationTask : public training::Task {
 public:
  /// `average` (may be null) is a second instance of the same model. `held_out` may be null.
  ClassificationTask(std::shared_ptr<ClassificationModel> model,
                     std::shared_ptr<ClassificationModel> average,
                     std::shared_ptr<const LabelledImages> data,
                     std::shared_ptr<const LabelledImages> held_out,
                     const ClassificationTaskOptions& options);
  ~ClassificationTask() override;

  torch::nn::Module& model() override { return *model_; }
  torch::nn::Module* average() override { return average_.get(); }
  std::int64_t batches_per_epoch() const override;
  void start_epoch(std::int64_t epoch, std::int64_t first_batch) override;
  training::BatchResult forward_backward(const training::BatchPosition& position) override;
  training::Metrics evaluate(bool average, const ProgressCallback& progress) override;
  training::Metadata model_metadata() const override { return metadata_; }
  training::Metadata fixed_settings() const override;

  void set_metadata(training::Metadata metadata) { metadata_ = std::move(metadata); }
  /// Pictures that could not be read so far; others took their places.
  std::int64_t unreadable() const { return unreadable_; }

 private:
  struct Batch {
    at::Tensor images;  // [B,3,H,W]
    std::vector<std::int64_t> labels;
  };

  /// Position of a batch of this process among the batches of all of them.
  std::int64_t joint_batch(std::int64_t batch) const;
  Batch make_batch(std::int64_t epoch, const std::vector<std::int64_t>& order,
                   std::int64_t batch) const;
  std::pair<std::shared_ptr<const Image>, std::int64_t> load_or_replace(std::int64_t index) const;
  Batch make_evaluation_batch(std::int64_t batch) const;
  ForwardContext training_context(const training::BatchPosition& position,
                                  std::int64_t batch_size) const;
  at::Tensor loss(const at::Tensor& logits, const at::Tensor& targets, const at::Tensor& images,
                  std::int64_t epoch) const;

  std::shared_ptr<ClassificationModel> model_, average_;
  std::shared_ptr<const LabelledImages> data_, held_out_;
  ClassificationTaskOptions options_;
  training::Metadata metadata_;
  mutable std::atomic<std::int64_t> unreadable_{0};
  std::unique_ptr<training::OrderedPrefetch<Batch>> prefetch_;
};

/// A sheet of `columns` x `rows` augmented training pictures as a PNG file.
void write_preview(const LabelledImages& data, const AugmentOptions& options, std::uint64_t seed,
                   const std::filesystem::path& path, int columns = 8, int rows = 8);

}  // namespace ttt::vision
