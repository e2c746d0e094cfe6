// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/novel_views.h"

#include "apps/common/memory.h"
#include "core/weights/weight_file.h"
#include "nvs/model/memory_estimate.h"
#include "nvs/model/operation_count.h"
#include "nvs/model/renderer.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

#include <algorithm>
#include <utility>

namespace ttt::cli {
namespace {

/// Cameras side by side that look along one axis, as far apart as the pictures of a scene.
nvs::CameraTensors made_up_cameras(const Subject& subject, c10::Device device) {
  nvs::CameraTensors cameras;
  cameras.width = subject.width;
  cameras.height = subject.height;
  at::Tensor c2w = at::eye(4).repeat({subject.batch, 1, 1});
  c2w.select(2, 3).select(1, 0).copy_(at::linspace(-1, 1, subject.batch));
  const auto width = static_cast<float>(subject.width);
  const auto height = static_cast<float>(subject.height);
  cameras.c2w = c2w.to(device);
  cameras.fxfycxcy =
      at::tensor({width, width, width / 2, height / 2}).repeat({subject.batch, 1}).to(device);
  return cameras;
}

void check_free_memory(const Subject& subject, const nvs::LvsmConfig& config,
                       const nvs::RendererOptions& options) {
  if (options.device.type() != c10::DeviceType::CPU) return;
  const bool writes = subject.op_case == kNovelViewCalls[0];
  const nvs::RunSize size{.input_views = writes ? subject.batch : 0,
                          .target_views = writes ? 0 : subject.batch,
                          .width = subject.width,
                          .height = subject.height,
                          .target_width = subject.width,
                          .target_height = subject.height};
  require_memory(nvs::estimate_memory(config, size, options).peak(),
                 fmt::format("{} views of {}x{}", subject.batch, subject.width, subject.height),
                 subject.name, "use a smaller --batch or --size");
}

}  // namespace

bool is_novel_view_model(const std::string& name) {
  const auto presets = nvs::lvsm_presets();
  return std::any_of(presets.begin(), presets.end(),
                     [&](const nvs::LvsmPreset& preset) { return preset.name == name; });
}

std::shared_ptr<nvs::LvsmModel> load_novel_view_model(const std::string& weights) {
  const WeightFile file = WeightFile::open(weights, {});
  const bool is_one = file.metadata().contains(nvs::kConfigMetadata) ||
                      nvs::derive_lvsm_config(file.tensors()).has_value();
  return is_one ? nvs::load_lvsm({.weights = weights}).model : nullptr;
}

const nvs::LvsmConfig& novel_view_config(const nvs::LvsmModel& model) {
  return model.config();
}

/// A renderer has what it needs, and one of another type gets the model from the file again: kept
/// here, it would count in the memory that is measured.
std::shared_ptr<nvs::LvsmModel> NovelViewShop::model_of(const Subject& subject) {
  if (subject.weights.empty()) {
    auto model = std::make_shared<nvs::LvsmModel>(nvs::find_lvsm_preset(subject.name).config);
    model->initialize(0);
    return model;
  }
  return plan_model_ ? std::exchange(plan_model_, nullptr)
                     : nvs::load_lvsm({.weights = subject.weights}).model;
}

void NovelViewShop::forget() {
  renderer_.reset();
  loaded_.clear();
}

Workload NovelViewShop::make(const Subject& subject) {
  nvs::RendererOptions options;
  options.dtype = subject.dtype;
  options.device = device_;
  options.backend = subject.backend;
  const std::string key =
      fmt::format("{} {} {} {}", subject.name, subject.weights, bench_type_name(subject.dtype),
                  ops::to_string(subject.backend));
  if (loaded_ != key) {
    forget();
    if (subject.weights.empty())
      check_free_memory(subject, nvs::find_lvsm_preset(subject.name).config, options);
    renderer_ = std::make_shared<nvs::LvsmRenderer>(*model_of(subject), options);
    loaded_ = key;
  }
  const nvs::LvsmConfig& config = renderer_->config();
  check_free_memory(subject, config, options);
  const nvs::CameraTensors cameras = made_up_cameras(subject, device_);
  const auto wait = [device = device_] {
    if (device.type() != c10::DeviceType::CPU)
      c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
  };
  if (subject.op_case == kNovelViewCalls[1])
    return {[renderer = renderer_, state = renderer_->initial_state(), cameras, wait] {
              renderer->render(state, cameras);
              wait();
            },
            nvs::render_operations(config, subject.batch, subject.width, subject.height)};
  const at::Tensor images = at::rand({subject.batch, 3, subject.height, subject.width},
                                     at::make_generator<at::CPUGeneratorImpl>(0));
  return {[renderer = renderer_, views = nvs::PosedViews{cameras, images.to(device_)}, wait] {
            renderer->reconstruct(views);
            wait();
          },
          nvs::reconstruct_operations(config, subject.batch, subject.width, subject.height)};
}

}  // namespace ttt::cli
