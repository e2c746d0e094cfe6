// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/training/novel_view_task.h"

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/media/encode_png.h"
#include "nvs/cameras/nearest_camera.h"
#include "nvs/cameras/normalization.h"
#include "nvs/output/metrics.h"
#include "nvs/scene/views.h"
#include "nvs/training/preview.h"
#include "training/autocast.h"
#include "training/data_order.h"

#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

#include <algorithm>

namespace ttt::nvs {
namespace {

using training::BatchPosition;
using training::BatchResult;
using training::Metrics;

constexpr std::size_t kPreviewScenes = 8;
constexpr std::int64_t kPreviewInputs = 4;

std::span<const float> planes_of(const at::Tensor& contiguous) {
  return {contiguous.const_data_ptr<float>(), static_cast<std::size_t>(contiguous.numel())};
}

/// One view [3, H, W] in 0 to 1.
Image picture_of(const at::Tensor& view) {
  const at::Tensor planes = view.contiguous();
  return from_planes(planes_of(planes), static_cast<int>(view.size(2)),
                     static_cast<int>(view.size(1)));
}

/// Mean over views [T, 3, H, W] of their PSNR.
double mean_psnr(const at::Tensor& rendered, const at::Tensor& truth) {
  double sum = 0;
  for (std::int64_t i = 0; i < truth.size(0); ++i) {
    const at::Tensor a = rendered[i].contiguous(), b = truth[i].contiguous();
    sum += psnr_of(mean_squared_error(planes_of(a), planes_of(b)));
  }
  return sum / static_cast<double>(truth.size(0));
}

}  // namespace

NovelViewTask::NovelViewTask(std::shared_ptr<LvsmModel> model, std::shared_ptr<LvsmModel> average,
                             std::shared_ptr<const ViewSource> source,
                             const std::vector<SceneViews>& held_out,
                             const NovelViewTaskOptions& options)
    : model_(std::move(model)),
      average_(std::move(average)),
      source_(std::move(source)),
      options_(options) {
  TTT_CHECK(options.input_views > 0 && options.target_views > 0 && options.shared_views >= 0 &&
                options.shared_views <= std::min(options.input_views, options.target_views),
            usage, "the numbers of views don't fit each other", "--shared-views",
            "use at most the smaller one of --input-views and --target-views");
  if (options.perceptual) check_perceptual_size(options.width, options.height);
  model_->to(options.device);
  for (const SceneViews& scene : held_out) {
    held_out_.push_back(make_batch({scene}));
    const auto inputs =
        std::span(scene.cameras).first(static_cast<std::size_t>(options.input_views));
    nearest_.emplace_back();
    for (std::size_t i = inputs.size(); i < scene.cameras.size(); ++i)
      nearest_.back().push_back(
          static_cast<std::int64_t>(nearest_camera(scene.cameras[i], inputs)));
  }
  if (!average_) return;
  average_->to(options.device);
  for (at::Tensor& parameter : average_->parameters()) parameter.requires_grad_(false);
}

NovelViewTask::~NovelViewTask() = default;

std::int64_t NovelViewTask::batches_per_epoch() const {
  const std::int64_t processes = options_.processes ? options_.processes->size() : 1;
  return options_.scenes_per_epoch / (options_.batch * processes);
}

std::int64_t NovelViewTask::joint_batch(std::int64_t batch) const {
  if (!options_.processes) return batch;
  return batch * options_.processes->size() + options_.processes->rank();
}

training::Metadata NovelViewTask::fixed_settings() const {
  training::Metadata settings{
      {"architecture", config_to_json(model_->config())},
      {"batch", std::to_string(options_.batch)},
      {"scenes per epoch", std::to_string(options_.scenes_per_epoch)},
      {"views", fmt::format("{} inputs, {} targets, {} shared", options_.input_views,
                            options_.target_views, options_.shared_views)},
      {"size", fmt::format("{}x{}", options_.width, options_.height)},
      {"mode", options_.normalize ? "scene" : "object"},
      {"scenes", source_->description()}};
  if (options_.processes) settings["processes"] = std::to_string(options_.processes->size());
  if (options_.perceptual)
    settings["perceptual loss"] =
        fmt::format("{} from step {}, weights {}", options_.perceptual_weight,
                    options_.perceptual_start, options_.perceptual->description());
  return settings;
}

training::Metadata NovelViewTask::model_metadata() const {
  return {{"ttt.model", model_->config().name()},
          {kConfigMetadata, config_to_json(model_->config())},
          {kSizeMetadata, fmt::format("{}x{}", options_.width, options_.height)},
          {kModeMetadata, options_.normalize ? "scene" : "object"}};
}

NovelViewTask::Batch NovelViewTask::make_batch(const std::vector<SceneViews>& scenes) const {
  std::vector<at::Tensor> images, c2w, fxfycxcy;
  for (const SceneViews& scene : scenes) {
    std::vector<Camera> cameras = scene.cameras;
    if (options_.normalize) {
      const PoseNormalization normalization = normalize_poses(cameras);
      for (Camera& camera : cameras) camera = normalization.apply(camera);
    }
    const CameraTensors tensors = camera_tensors(cameras);
    std::vector<const Image*> pictures;
    for (const Image& image : scene.images) pictures.push_back(&image);
    images.push_back(image_bytes(pictures));
    c2w.push_back(tensors.c2w);
    fxfycxcy.push_back(tensors.fxfycxcy);
  }
  return {at::stack(images), at::stack(c2w), at::stack(fxfycxcy)};
}

NovelViewTask::Batch NovelViewTask::training_batch(std::int64_t epoch, std::int64_t batch) const {
  std::vector<SceneViews> scenes;
  for (std::int64_t i = 0; i < options_.batch; ++i)
    scenes.push_back(source_->sample(
        training::sample_seed(options_.seed, epoch, joint_batch(batch) * options_.batch + i),
        options_.views()));
  return make_batch(scenes);
}

void NovelViewTask::start_epoch(std::int64_t epoch, std::int64_t first_batch) {
  prefetch_.reset();
  prefetch_ = std::make_unique<training::OrderedPrefetch<Batch>>(
      batches_per_epoch() - first_batch,
      [this, epoch, first_batch](std::int64_t i) { return training_batch(epoch, first_batch + i); },
      options_.workers);
}

at::Tensor NovelViewTask::render(const LvsmModel& model, const Batch& batch,
                                 std::int64_t first_target, bool inner_update) const {
  const std::int64_t height = batch.images.size(3), width = batch.images.size(4);
  const auto cameras = [&](std::int64_t first, std::int64_t count) {
    return CameraTensors{batch.c2w.narrow(1, first, count).to(options_.device),
                         batch.fxfycxcy.narrow(1, first, count).to(options_.device), height, width};
  };
  const at::Tensor inputs =
      batch.images.narrow(1, 0, options_.input_views).to(options_.device).contiguous();
  return model.joint(inputs, cameras(0, options_.input_views),
                     cameras(first_target, batch.images.size(1) - first_target),
                     {.backend = options_.backend,
                      .bf16_newton_schulz = options_.bf16_newton_schulz,
                      .inner_update = inner_update,
                      .recompute = options_.recompute});
}

BatchResult NovelViewTask::forward_backward(const BatchPosition& position) {
  const Batch batch = prefetch_->next();
  const std::int64_t first = options_.views() - options_.target_views;
  const at::Tensor truth = batch.images.narrow(1, first, options_.target_views)
                               .to(options_.device)
                               .to(at::kFloat)
                               .div_(255);
  at::Tensor rendered, loss;
  {
    const training::AutocastGuard autocast(options_.device.type(), options_.compute);
    rendered = render(*model_, batch, first, true);
    loss = at::mse_loss(rendered, truth);
  }
  Metrics scores{{"psnr", psnr_of(loss.item<double>())}};
  if (options_.perceptual && options_.perceptual_weight > 0 &&
      position.step >= options_.perceptual_start) {
    const at::Tensor distance =
        options_.perceptual->loss(rendered.flatten(0, 1), truth.flatten(0, 1), options_.compute);
    loss = loss + options_.perceptual_weight * distance;
    scores.emplace_back("lpips", distance.item<double>());
  }
  (loss * position.loss_scale).backward();
  return {loss.item<double>(), {}, std::move(scores)};
}

Metrics NovelViewTask::evaluate(bool average, const ProgressCallback& callback) {
  if (held_out_.empty()) return {};
  const torch::NoGradGuard no_grad;
  const LvsmModel& model = average ? *average_ : *model_;
  Progress progress("evaluate", static_cast<std::int64_t>(held_out_.size()), callback);
  double ours = 0, without = 0, nearest = 0, perceptual = 0;
  std::vector<std::vector<Image>> sheet;
  for (std::size_t i = 0; i < held_out_.size(); ++i) {
    const Batch& scene = held_out_[i];
    const at::Tensor views = scene.images[0].to(at::kFloat).div_(255);
    const std::int64_t inputs = options_.input_views;
    const at::Tensor truth = views.narrow(0, inputs, views.size(0) - inputs);
    const at::Tensor rendered = render(model, scene, inputs, true)[0].to(at::kCPU);
    const at::Tensor plain = render(model, scene, inputs, false)[0].to(at::kCPU);
    const at::Tensor copied = views.index_select(0, at::tensor(nearest_[i]));
    ours += mean_psnr(rendered, truth);
    without += mean_psnr(plain, truth);
    nearest += mean_psnr(copied, truth);
    if (options_.perceptual)
      perceptual +=
          options_.perceptual
              ->distances(rendered.to(options_.device, at::kFloat), truth.to(options_.device))
              .mean()
              .item<double>();
    if (sheet.size() < kPreviewScenes) {
      sheet.emplace_back();
      for (std::int64_t v = 0; v < std::min(kPreviewInputs, inputs); ++v)
        sheet.back().push_back(picture_of(views[v]));
      for (const at::Tensor& pictures : {copied, plain, rendered, truth})
        sheet.back().push_back(picture_of(pictures[0]));
    }
    progress.advance();
  }
  if (!options_.preview.empty()) write_file(options_.preview, encode_png(picture_grid(sheet)));
  const auto count = static_cast<double>(held_out_.size());
  Metrics metrics{{"psnr", ours / count},
                  {"psnr_no_update", without / count},
                  {"psnr_nearest_view", nearest / count}};
  if (options_.perceptual) metrics.emplace_back("lpips", perceptual / count);
  return metrics;
}

}  // namespace ttt::nvs
