// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/model/lvsm.h"
#include "nvs/training/perceptual_loss.h"
#include "nvs/training/view_source.h"
#include "training/ordered_prefetch.h"
#include "training/trainer.h"

#include <c10/core/Device.h>

namespace ttt::nvs {

/// Defaults are the official ones (a1600012888/LaCT: lact_nvs/train.py).
struct NovelViewTaskOptions {
  std::uint64_t seed = 0;
  std::int64_t scenes_per_epoch = 1000;
  std::int64_t batch = 8;         ///< scenes per forward pass
  int workers = 1;                ///< threads that prepare batches; 0: the training thread does
  int width = 256, height = 256;  ///< of the source's views
  int input_views = 8;
  int target_views = 8;
  int shared_views = 1;    ///< of them are inputs and targets at once
  bool normalize = false;  ///< poses by the mean camera of a sample's views (scene mode)
  at::ScalarType compute = at::kFloat;  ///< bfloat16: autocast, parameters stay float
  bool recompute = false;               ///< keep block inputs only, run blocks twice
  bool bf16_newton_schulz = false;
  ops::Backend backend = ops::Backend::automatic;
  c10::Device device{c10::DeviceType::CPU};
  std::shared_ptr<training::ProcessGroup> processes;  ///< null for one process
  std::shared_ptr<const PerceptualLoss> perceptual;   ///< null for none
  double perceptual_weight = 1;
  std::int64_t perceptual_start = 5000;  ///< optimizer steps before it counts
  std::filesystem::path preview;  ///< a sheet of each evaluation's pictures (PNG); empty: none

  int views() const { return input_views + target_views - shared_views; }
};

/// Novel view synthesis as a training task: mean squared error of rendered target views, plus their
/// perceptual distance where its weights are given. Scores of a batch are "psnr", -10 log10 of its
/// mean squared error, and "lpips" where that counts.
class NovelViewTask : public training::Task {
 public:
  /// `average` (may be null) is a second instance of the same model. `held_out`: views of scenes to
  /// measure on, input_views of them first; may be empty.
  NovelViewTask(std::shared_ptr<LvsmModel> model, std::shared_ptr<LvsmModel> average,
                std::shared_ptr<const ViewSource> source, const std::vector<SceneViews>& held_out,
                const NovelViewTaskOptions& options);
  ~NovelViewTask() override;

  torch::nn::Module& model() override { return *model_; }
  torch::nn::Module* average() override { return average_.get(); }
  std::int64_t batches_per_epoch() const override;
  void start_epoch(std::int64_t epoch, std::int64_t first_batch) override;
  training::BatchResult forward_backward(const training::BatchPosition& position) override;
  /// Mean PSNR over scenes of the rendered views ("psnr"), with the fast-weight update off
  /// ("psnr_no_update"), and of the input view with the nearest camera ("psnr_nearest_view"). With
  /// a perceptual loss also the mean of the rendered views ("lpips").
  training::Metrics evaluate(bool average, const ProgressCallback& progress) override;
  training::Metadata model_metadata() const override;
  training::Metadata fixed_settings() const override;

 private:
  struct Batch {               // of B scenes with V views each
    at::Tensor images;         // [B, V, 3, H, W] bytes
    at::Tensor c2w, fxfycxcy;  // [B, V, 4, 4], [B, V, 4]
  };

  Batch make_batch(const std::vector<SceneViews>& scenes) const;
  Batch training_batch(std::int64_t epoch, std::int64_t batch) const;
  std::int64_t joint_batch(std::int64_t batch) const;
  /// Inputs are the first input_views, targets all from `first_target` on: [B, T, 3, H, W].
  at::Tensor render(const LvsmModel& model, const Batch& batch, std::int64_t first_target,
                    bool inner_update) const;

  std::shared_ptr<LvsmModel> model_, average_;
  std::shared_ptr<const ViewSource> source_;
  std::vector<Batch> held_out_;                     // one scene each
  std::vector<std::vector<std::int64_t>> nearest_;  // for its targets: the nearest input views
  NovelViewTaskOptions options_;
  std::unique_ptr<training::OrderedPrefetch<Batch>> prefetch_;
};

}  // namespace ttt::nvs
