// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/result_sink.h"
#include "apps/render/outputs.h"
#include "apps/render/views.h"
#include "nvs/output/contact_sheet.h"
#include "nvs/output/metrics.h"

#include <chrono>
#include <functional>
#include <optional>

namespace ttt::cli {

/// What all scenes of a run share.
struct RenderJob {
  const OptionTable& table;
  const RenderOptions& options;
  const RenderSetup& setup;
  ResultSink& sink;
  ProgressCallback progress;
};

/// One scene: views in, state, pictures out.
class SceneRun {
 public:
  /// `scene` is empty when a state is rendered along a path that needs no frames.
  SceneRun(const RenderJob& job, std::optional<RenderScene> scene, RenderPaths paths);

  /// Throws Error for what ends this scene.
  void run();
  /// What the scene came to, for the summary; valid after run(), also when it threw.
  nlohmann::ordered_json summary() const;
  bool interrupted() const { return interrupted_; }
  /// Pictures that could not be read.
  const std::vector<std::string>& failed() const { return failed_; }
  std::int64_t rendered() const { return rendered_; }

 private:
  using Json = nlohmann::ordered_json;

  void load_state();
  void obtain_state();
  nvs::PosedViews input_views();
  at::Tensor pictures_of(std::span<const nvs::Camera> cameras) const;
  void reconstruct(const nvs::FastWeightMap* start);
  void open_output();
  void render_frames();
  void render_chunk(std::int64_t first, std::int64_t count);
  void measure_targets();
  void measure_target(int index, const nvs::Camera& camera);
  /// An interruption within the step ends the run with what is done.
  void keep_if_interrupted(const std::function<void()>& step);
  void measure(int index, const at::Tensor& picture, const nvs::View* truth, Json& row);
  double perceptual_distance(const at::Tensor& picture, std::vector<float>& truth) const;
  void write_files();
  /// For a scene that an error ended.
  void record_failure();
  std::int64_t chunk_views() const;
  Json new_row(std::int64_t view) const;
  Json identity() const;
  void check_memory() const;

  const RenderJob& job_;
  std::optional<RenderScene> scene_;
  RenderPaths paths_;
  std::string name_;
  nvs::SceneState state_;
  std::vector<nvs::Camera> cameras_;  ///< of the path, in the model's world
  std::optional<FrameOutput> output_;
  Json record_;
  nvs::MetricsReport metrics_;
  std::vector<nvs::FastWeightReport> reports_;
  std::vector<nvs::Camera> input_cameras_;  ///< in the model's world, for --baseline
  at::Tensor input_images_;                 ///< [V, 3, H, W] bytes, for --baseline
  std::vector<nvs::SheetPicture> sheet_inputs_;
  std::vector<nvs::SheetTarget> sheet_targets_;
  std::vector<at::Tensor> tensors_;
  std::vector<std::string> failed_;
  std::int64_t rendered_ = 0;
  double reconstruct_ms_ = 0, render_ms_ = 0;
  bool interrupted_ = false;
};

}  // namespace ttt::cli
