// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/view/live_scene.h"

#include "apps/common/text.h"
#include "apps/view/protocol.h"
#include "core/error.h"
#include "core/media/encode_jpeg.h"
#include "core/media/encode_png.h"
#include "nvs/cameras/paths.h"
#include "nvs/model/patches.h"
#include "nvs/output/contact_sheet.h"
#include "nvs/scene/camera_path_file.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDraftQuality = 85;
constexpr int kPathFrames = 90;
constexpr std::size_t kLongestPath = 600;

}  // namespace

PixelSize drag_size(const RenderSetup& setup, const ViewOptions& options) {
  const std::int64_t patch = setup.config.patch_size;
  if (options.drag_size) {
    nvs::check_picture_size(options.drag_size->width, options.drag_size->height, patch,
                            "--drag-size");
    return *options.drag_size;
  }
  const auto half = [&](int side) {
    return static_cast<int>(std::max<std::int64_t>(1, (side + patch) / (2 * patch)) * patch);
  };
  return {half(setup.render_size.width), half(setup.render_size.height)};
}

LiveScene::LiveScene(const RenderSetup& setup, const ViewOptions& options, nvs::SceneState state,
                     std::optional<RenderScene> scene)
    : setup_(setup),
      options_(options),
      state_(std::move(state)),
      scene_(std::move(scene)),
      drag_size_(cli::drag_size(setup, options)) {
  if (scene_) {
    std::vector<int> inputs = scene_->selection.inputs;
    std::sort(inputs.begin(), inputs.end());
    inputs_ = cameras_of(inputs);
  }
  if (inputs_.empty()) inputs_ = stand_ins();
  frame_ = nvs::orbit_frame(inputs_, state_.normalization.scale);
}

std::vector<nvs::Camera> LiveScene::cameras_of(const std::vector<int>& frames) const {
  return frame_cameras(scene_->scene, frames, setup_.render_size, options_.render);
}

std::vector<nvs::Camera> LiveScene::turntable() const {
  auto cameras = nvs::turntable_path({.frames = kPathFrames,
                                      .width = setup_.render_size.width,
                                      .height = setup_.render_size.height,
                                      .swap_size = options_.render.decode == "official"});
  for (nvs::Camera& camera : cameras) camera = state_.normalization.undo(camera);
  return cameras;
}

/// Cameras where no scene tells some: around an object, or the mean camera.
std::vector<nvs::Camera> LiveScene::stand_ins() const {
  if (state_.mode == "object") return turntable();
  const int width = setup_.render_size.width, height = setup_.render_size.height;
  const nvs::Camera mean{{}, nvs::intrinsics_from_field_of_view(50, width, height), width, height};
  return {state_.normalization.undo(mean)};
}

Json LiveScene::path_views(std::span<const nvs::Camera> cameras) const {
  Json list = Json::array();
  for (const nvs::Camera& camera : cameras) list.push_back(view_json(frame_.view(camera)));
  return list;
}

Json LiveScene::poses() const {
  Json list = Json::array();
  if (!scene_) return list;
  const std::vector<int>& inputs = scene_->selection.inputs;
  const std::vector<int> frames = scene_->scene.usable();
  const std::vector<nvs::Camera> cameras = cameras_of(frames);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::string& name = scene_->scene.frames[static_cast<std::size_t>(frames[i])].name;
    const bool input = std::find(inputs.begin(), inputs.end(), frames[i]) != inputs.end();
    list.push_back({{"index", frames[i]},
                    {"name", utf8_text(printable(name, 200))},
                    {"input", input},
                    {"view", view_json(frame_.view(cameras[i]))}});
  }
  return list;
}

Json LiveScene::paths() const {
  const int width = setup_.render_size.width, height = setup_.render_size.height;
  Json list = Json::array();
  const auto add = [&](const char* name, const std::vector<nvs::Camera>& cameras) {
    list.push_back({{"name", name}, {"views", path_views(cameras)}});
  };
  if (scene_) {
    try {
      add("orbit", nvs::orbit_path(inputs_, kPathFrames, width, height, scene_->rig.center));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;  // they don't look at one point
    }
    add("spiral", nvs::spiral_path(inputs_, kPathFrames, width, height));
    const std::size_t steps = std::max<std::size_t>(1, inputs_.size() - 1);
    const auto between = static_cast<int>(std::min<std::size_t>(9, kLongestPath / steps));
    add("interpolate", nvs::interpolated_path(inputs_, between, nvs::Interpolation::sphere));
  }
  if (state_.mode == "object") add("turntable", turntable());
  return list;
}

Json LiveScene::describe() const {
  return {{"scene", state_.scene},
          {"model", setup_.config.name()},
          {"mode", state_.mode},
          {"device", setup_.device.device.str()},
          {"input_views", state_.views},
          {"size", {setup_.render_size.width, setup_.render_size.height}},
          {"drag_size", {drag_size_.width, drag_size_.height}},
          {"start", view_json(frame_.view(inputs_.front()))},
          {"poses", poses()},
          {"paths", paths()}};
}

ViewedPicture LiveScene::render(const nvs::OrbitView& view, bool draft) {
  using Clock = std::chrono::steady_clock;
  const PixelSize size = draft ? drag_size_ : setup_.render_size;
  const nvs::Camera camera =
      state_.normalization.apply(frame_.camera(view, size.width, size.height));
  const Clock::time_point begin = Clock::now();
  const at::Tensor picture =
      setup_.renderer->render(state_.layers, nvs::camera_tensors({&camera, 1}))[0].contiguous();
  ViewedPicture result;
  result.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  const Image image =
      nvs::from_planes({picture.const_data_ptr<float>(), static_cast<std::size_t>(picture.numel())},
                       size.width, size.height);
  result.width = size.width;
  result.height = size.height;
  result.type = draft ? "image/jpeg" : "image/png";
  result.bytes = draft ? encode_jpeg(image, kDraftQuality) : encode_png(image);
  milliseconds_ += result.milliseconds;
  ++rendered_;
  return result;
}

std::string LiveScene::camera_file(std::span<const nvs::OrbitView> views) const {
  std::vector<nvs::Camera> cameras;
  for (const nvs::OrbitView& view : views)
    cameras.push_back(frame_.camera(view, setup_.render_size.width, setup_.render_size.height));
  return nvs::camera_path_json(cameras);
}

}  // namespace ttt::cli
