// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/novel_views.h"

#include "apps/common/memory.h"
#include "core/error.h"
#include "core/weights/weight_file.h"
#include "nvs/model/memory_estimate.h"
#include "nvs/model/operation_count.h"
#include "nvs/model/renderer.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

#include <algorithm>

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
  const auto available = memory_available();
  const bool writes = subject.op_case == kNovelViewCalls[0];
  const nvs::RunSize size{.input_views = writes ? subject.batch : 0,
                          .target_views = writes ? 0 : subject.batch,
                          .width = subject.width,
                          .height = subject.height,
                          .target_width = subject.width,
                          .target_height = subject.height};
  const auto need = static_cast<double>(nvs::estimate_memory(config, size, options).peak());
  TTT_CHECK(!available || need <= static_cast<double>(*available), memory,
            fmt::format("{} views of {}x{} need about {:.0f} MiB, and {:.0f} MiB are free",
                        subject.batch, subject.width, subject.height, need / kMebibyte,
                        static_cast<double>(available.value_or(0)) / kMebibyte),
            subject.name, "use a smaller --batch or --size");
}

std::shared_ptr<nvs::LvsmModel> load_model(const Subject& subject) {
  if (!subject.weights.empty()) return nvs::load_lvsm({.weights = subject.weights}).model;
  auto model = std::make_shared<nvs::LvsmModel>(nvs::find_lvsm_preset(subject.name).config);
  model->initialize(0);
  return model;
}

}  // namespace

bool is_novel_view_model(const std::string& name, const std::string& weights) {
  if (!weights.empty()) {
    const WeightFile file = WeightFile::open(weights, {});
    return file.metadata().contains(nvs::kConfigMetadata) ||
           nvs::derive_lvsm_config(file.tensors()).has_value();
  }
  const auto presets = nvs::lvsm_presets();
  return std::any_of(presets.begin(), presets.end(),
                     [&](const nvs::LvsmPreset& preset) { return preset.name == name; });
}

nvs::LvsmConfig novel_view_config(const std::string& name, const std::string& weights) {
  return weights.empty() ? nvs::find_lvsm_preset(name).config
                         : nvs::load_lvsm({.weights = weights}).model->config();
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
    renderer_ = std::make_shared<nvs::LvsmRenderer>(*load_model(subject), options);
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
