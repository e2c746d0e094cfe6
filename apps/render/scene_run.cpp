// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/render/scene_run.h"

#include "apps/common/run_record.h"
#include "apps/common/text.h"
#include "apps/render/memory.h"
#include "apps/render/reconstruction.h"
#include "apps/render/report.h"
#include "core/atomic_file.h"
#include "core/cancel.h"
#include "core/error.h"
#include "core/log.h"
#include "core/weights/safetensors_writer.h"
#include "nvs/cameras/nearest_camera.h"
#include "nvs/model/memory_estimate.h"
#include "nvs/output/update_plot.h"
#include "nvs/scene/rig.h"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::span<const float> values(const at::Tensor& picture) {
  return {picture.const_data_ptr<float>(), static_cast<std::size_t>(picture.numel())};
}

Image to_image(const at::Tensor& picture) {
  return nvs::from_planes(values(picture), static_cast<int>(picture.size(2)),
                          static_cast<int>(picture.size(1)));
}

Json number_or_null(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

SceneRun::SceneRun(const RenderJob& job, std::optional<RenderScene> scene, RenderPaths paths)
    : job_(job), scene_(std::move(scene)), paths_(std::move(paths)) {
  if (!scene_) return;
  name_ = scene_->scene.name;
  // The scene's warnings have named them.
  for (const nvs::Frame& frame : scene_->scene.frames)
    if (!frame.usable()) failed_.push_back(frame.name + ": " + frame.problem);
}

std::int64_t SceneRun::chunk_views() const {
  return views_per_call(job_.setup);
}

void SceneRun::load_state() {
  state_ = open_state(job_.setup, job_.options);
  if (scene_) {
    scene_->mode = state_.mode;
    scene_->normalization = state_.normalization;
  } else {
    name_ = state_.scene;
  }
}

void SceneRun::run() {
  const RenderOptions& options = job_.options;
  if (!options.state.empty())
    load_state();
  else
    normalize(*scene_, job_.setup, options);
  const bool pictures = !paths_.output.empty() || !paths_.tensors.empty() ||
                        !paths_.metrics.empty() || !paths_.sheet.empty();
  if (!pictures) {
    // The rig and the selection are those of the scene alone.
    if (!paths_.save_state.empty() || !paths_.inner_plot.empty() || options.inner_report) {
      check_memory();
      obtain_state();
    }
    return write_files();
  }
  cameras_ = path_cameras(scene_ ? &*scene_ : nullptr,
                          scene_ ? scene_->normalization : state_.normalization,
                          scene_ ? scene_->mode : state_.mode, job_.setup, options);
  check_memory();
  open_output();
  const auto total = static_cast<std::int64_t>(cameras_.size());
  if (options.resume && output_->finished() == total) {
    log_info("all {} pictures of {} are done", total, printable(name_));
    finish_run_record(record_, record_name(paths_.output), "complete");
    return;
  }
  try {
    obtain_state();
    render_frames();
    if (!interrupted_) measure_targets();
    write_files();
  } catch (...) {
    record_failure();
    throw;
  }
}

void SceneRun::record_failure() {
  if (paths_.output.empty()) return;
  try {
    finish_run_record(record_, record_name(paths_.output),
                      cancel_requested() ? "interrupted" : "failed");
  } catch (const Error& error) {  // often for the same reason; what ended the scene is told
    log_debug("{}", error.what());
  }
}

void SceneRun::check_memory() const {
  const std::int64_t inputs =
      reconstructs(job_.options) ? static_cast<std::int64_t>(scene_->selection.inputs.size()) : 0;
  cli::check_memory(job_.setup, inputs, static_cast<std::int64_t>(cameras_.size()));
}

Json SceneRun::identity() const {
  Json result = describe(job_.setup, job_.options);
  // These change speed, what is measured, or the last bits at most.
  for (const char* key :
       {"weights", "device", "device_reason", "backend", "threads", "tile", "lpips_weights_hash"})
    result.erase(key);
  result["scene"] = utf8_text(name_);
  result["path"] = utf8_text(job_.options.path);
  result["frames"] = cameras_.size();
  result["start_index"] = job_.options.start_index;
  result["mode"] = scene_ ? scene_->mode : state_.mode;
  result["state"] = utf8_text(job_.options.state);
  result["inner_update"] = job_.options.inner_update;
  if (job_.options.baseline != "none") result["baseline"] = job_.options.baseline;
  if (scene_) {
    result["inputs"] = scene_->selection.inputs;
    result["targets"] = scene_->selection.targets;
  }
  return result;
}

void SceneRun::open_output() {
  const RenderOptions& options = job_.options;
  record_ = begin_run_record(job_.table);
  record_.update(describe(job_.setup, options));
  record_["identity"] = identity();
  const std::string record = record_name(paths_.output);
  if (options.resume && std::filesystem::exists(run_record_path(record)))
    check_same_run(read_run_record(record), record_, record);
  const Json text{
      {"program", "ttt render"},           {"scene", utf8_text(name_)},
      {"model", job_.setup.config.name()}, {"weights_hash", job_.setup.weights_hash.get()},
      {"path", utf8_text(options.path)},   {"identity", record_["identity"]}};
  output_.emplace(paths_.output, static_cast<std::int64_t>(cameras_.size()), options,
                  std::vector<PngText>{{"ttt", dump_json(text)}});
  if (!paths_.output.empty()) finish_run_record(record_, record, "running");
}

nvs::PosedViews SceneRun::input_views() {
  InputViews inputs = load_input_views(job_.setup, job_.options, *scene_, job_.progress);
  failed_.insert(failed_.end(), inputs.failed.begin(), inputs.failed.end());
  if (job_.options.baseline == "nearest") {
    for (const nvs::View& view : inputs.views)
      if (!view.error) input_cameras_.push_back(scene_->normalization.apply(view.camera));
    input_images_ = inputs.posed.images;
  }
  if (!paths_.sheet.empty())
    for (nvs::View& view : inputs.views)
      if (!view.error)
        sheet_inputs_.push_back({std::move(view.image), fmt::format("input {}", view.index)});
  return std::move(inputs.posed);
}

void SceneRun::reconstruct(const nvs::FastWeightMap* start) {
  const nvs::PosedViews views = input_views();
  const bool report = job_.options.inner_report || !paths_.inner_plot.empty();
  const Clock::time_point begin = Clock::now();
  log_info("reconstructing from {} views, {} tokens", views.cameras.views(),
           nvs::token_count(job_.setup.config, views.cameras.views(), job_.setup.size.width,
                            job_.setup.size.height));
  nvs::FastWeightMap layers =
      job_.setup.renderer->reconstruct(views, start, {job_.progress, report ? &reports_ : nullptr});
  reconstruct_ms_ = milliseconds_since(begin);
  state_.layers = std::move(layers);
  state_.views += views.cameras.views();
}

void SceneRun::obtain_state() {
  const RenderOptions& options = job_.options;
  const bool fresh = options.state.empty();
  if (fresh) state_ = new_state(job_.setup, *scene_);
  if (options.baseline == "nearest") {
    state_.views = input_views().cameras.views();
  } else if (reconstructs(options)) {
    const nvs::FastWeightMap start = state_.layers;
    reconstruct(&start);
    if (!fresh) ++state_.updates;
  }
  if (!paths_.save_state.empty())
    nvs::save_scene_state(
        paths_.save_state, state_,
        options.state_dtype == "bf16" ? layers::StateDtype::bfloat16 : layers::StateDtype::float32);
}

Json SceneRun::new_row(std::int64_t view) const {
  Json row{{"schema", kSchema}};
  put_name(row, "scene", name_);
  row["view"] = view;
  row["status"] = "ok";
  return row;
}

double SceneRun::perceptual_distance(const at::Tensor& picture, std::vector<float>& truth) const {
  const c10::Device device = job_.setup.device.device;
  const at::Tensor wanted = at::from_blob(truth.data(), picture.sizes(), at::kFloat);
  return job_.setup.perceptual
      ->distances(picture.unsqueeze(0).to(device), wanted.unsqueeze(0).to(device))
      .item<double>();
}

void SceneRun::measure(int index, const at::Tensor& picture, const nvs::View* truth, Json& row) {
  if (truth == nullptr || truth->error) {
    if (truth != nullptr) {
      log_warning("{}", truth->error->what());
      failed_.push_back(truth->error->what());
    }
    return;
  }
  std::vector<float> planes = nvs::to_planes(truth->image);
  nvs::ViewMetrics metrics =
      nvs::measure_view(values(picture), planes, truth->image.width, truth->image.height);
  metrics.index = index;
  metrics.file = scene_->scene.frames[static_cast<std::size_t>(index)].name;
  const std::vector<int> leaked = nvs::leaked_targets(scene_->scene, scene_->selection);
  metrics.leaked = std::find(leaked.begin(), leaked.end(), index) != leaked.end();
  row["psnr"] = metrics.psnr;
  row["ssim"] = number_or_null(metrics.ssim);
  if (job_.setup.perceptual) row["lpips"] = *(metrics.lpips = perceptual_distance(picture, planes));
  if (metrics.leaked) row["leaked"] = true;
  if (!paths_.sheet.empty()) sheet_targets_.push_back({to_image(picture), truth->image, metrics});
  metrics_.views.push_back(std::move(metrics));
}

at::Tensor SceneRun::pictures_of(std::span<const nvs::Camera> cameras) const {
  if (job_.options.baseline != "nearest")
    return job_.setup.renderer->render(state_.layers, nvs::camera_tensors(cameras));
  std::vector<at::Tensor> pictures;
  for (const nvs::Camera& camera : cameras) {
    const auto nearest = static_cast<std::int64_t>(nvs::nearest_camera(camera, input_cameras_));
    pictures.push_back(input_images_[nearest].to(at::kFloat).div_(255).contiguous());
  }
  return at::stack(pictures);
}

void SceneRun::render_chunk(std::int64_t first, std::int64_t count) {
  const bool targets = renders_targets(job_.options);
  const auto begin_camera = cameras_.begin() + first;
  const Clock::time_point begin = Clock::now();
  const at::Tensor pictures = pictures_of({begin_camera, begin_camera + count});
  render_ms_ += milliseconds_since(begin);
  std::vector<nvs::View> truth;
  if (targets) {
    const auto start = scene_->selection.targets.begin() + first;
    const std::vector<int> indices(start, start + count);
    truth =
        nvs::load_views(scene_->scene, indices, view_options(job_.setup.render_size, job_.options));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const at::Tensor picture = pictures[i];
    const auto place = static_cast<std::size_t>(first + i);
    Json row =
        new_row(targets ? scene_->selection.targets[place] : job_.options.start_index + first + i);
    if (targets)
      measure(scene_->selection.targets[place], picture, &truth[static_cast<std::size_t>(i)], row);
    const std::string file = output_->add(to_image(picture));
    if (!file.empty()) put_name(row, "file", file);
    if (!paths_.tensors.empty()) tensors_.push_back(picture.clone());
    ++rendered_;
    job_.sink.row(row);
  }
}

void SceneRun::render_frames() {
  const auto total = static_cast<std::int64_t>(cameras_.size());
  const std::int64_t done = output_->finished();
  if (done > 0) log_info("resuming: {} of {} pictures are done", done, total);
  Progress progress("render", total - done, job_.progress);
  for (std::int64_t first = done; first < total && !interrupted_; first += chunk_views()) {
    const std::int64_t count = std::min(chunk_views(), total - first);
    keep_if_interrupted([&] {
      render_chunk(first, count);
      progress.advance(count);
    });
    if (cancel_requested() && first + count < total) interrupted_ = true;
  }
  if (!interrupted_ || rendered_ > 0) output_->finish();
}

void SceneRun::measure_targets() {
  // Along a path the targets are rendered too when someone asks how good they are.
  const bool wanted = !paths_.metrics.empty() || !paths_.sheet.empty();
  if (renders_targets(job_.options) || !scene_ || !wanted) return;
  const std::vector<int>& targets = scene_->selection.targets;
  const std::vector<nvs::Camera> world =
      frame_cameras(scene_->scene, targets, job_.setup.render_size, job_.options);
  for (std::size_t i = 0; i < targets.size() && !interrupted_; ++i) {
    keep_if_interrupted([&] { measure_target(targets[i], scene_->normalization.apply(world[i])); });
    if (cancel_requested() && i + 1 < targets.size()) interrupted_ = true;
  }
}

void SceneRun::measure_target(int index, const nvs::Camera& camera) {
  const at::Tensor picture = pictures_of({&camera, 1})[0];
  const std::vector<nvs::View> truth =
      nvs::load_views(scene_->scene, std::span<const int>(&index, 1),
                      view_options(job_.setup.render_size, job_.options));
  Json row = new_row(index);
  measure(index, picture, &truth[0], row);
  job_.sink.row(row);
}

void SceneRun::keep_if_interrupted(const std::function<void()>& step) {
  try {
    step();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
    interrupted_ = true;
  }
}

void SceneRun::write_files() {
  metrics_.scene = name_;
  const bool measured = !interrupted_ || !metrics_.views.empty();
  if (!paths_.metrics.empty() && measured) nvs::write_metrics(paths_.metrics, metrics_);
  if (!paths_.sheet.empty() && measured)
    write_file(paths_.sheet, encode_png(nvs::contact_sheet(sheet_inputs_, sheet_targets_)));
  if (!paths_.rig.empty())
    write_file(paths_.rig, encode_png(nvs::draw_rig(scene_->scene, scene_->selection.inputs,
                                                    scene_->selection.targets)));
  if (!paths_.save_selection.empty())
    write_file(paths_.save_selection, nvs::selection_to_json(scene_->scene, scene_->selection));
  if (!paths_.inner_plot.empty()) {
    std::vector<nvs::UpdateBar> bars;
    for (const nvs::FastWeightReport& report : reports_)
      bars.push_back(
          {report.loss_before, report.loss_after, report.gradient_norm, report.update_ratio});
    write_file(paths_.inner_plot, encode_png(nvs::draw_updates(bars)));
  }
  if (!paths_.tensors.empty() && !tensors_.empty()) {
    const NamedTensor rendered{"rendered", at::stack(tensors_)};
    write_safetensors(paths_.tensors, {&rendered, 1});
  }
  if (paths_.output.empty()) return;
  record_["result"] = summary();
  finish_run_record(record_, record_name(paths_.output), interrupted_ ? "interrupted" : "complete");
}

Json SceneRun::summary() const {
  Json result;
  put_name(result, "scene", name_);
  result["mode"] = scene_ ? scene_->mode : state_.mode;
  result["input_views"] = state_.views;
  result["inputs"] = scene_ ? Json(scene_->selection.inputs) : Json::array();
  result["targets"] = scene_ ? Json(scene_->selection.targets) : Json::array();
  if (reconstruct_ms_ > 0) {
    result["tokens"] = nvs::token_count(job_.setup.config, state_.views, job_.setup.size.width,
                                        job_.setup.size.height);
    result["reconstruct_ms"] = significant(reconstruct_ms_, 6);
  }
  result["rendered"] = rendered_;
  if (rendered_ > 0)
    result["render_ms_per_view"] = significant(render_ms_ / static_cast<double>(rendered_), 6);
  if (!metrics_.views.empty()) {
    result["measured"] = metrics_.views.size();
    result["mean"] = {{"psnr", metrics_.mean_psnr()},
                      {"ssim", number_or_null(metrics_.mean_ssim())}};
    if (metrics_.mean_lpips()) result["mean"]["lpips"] = *metrics_.mean_lpips();
    result["psnr_of_mean_error"] = metrics_.psnr_of_mean_error();
  }
  if (job_.options.inner_report) result["inner"] = inner_json(reports_);
  return result;
}

}  // namespace ttt::cli
