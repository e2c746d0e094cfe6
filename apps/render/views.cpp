// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/render/views.h"

#include "core/error.h"
#include "core/inputs/paths.h"
#include "core/log.h"
#include "core/nearest.h"
#include "nvs/cameras/paths.h"
#include "nvs/scene/camera_path_file.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <sstream>

namespace ttt::cli {
namespace {

bool official(const RenderOptions& options) {
  return options.decode == "official";
}

nvs::SelectionOptions selection_options(const nvs::Scene& scene, const RenderOptions& options,
                                        std::uint64_t seed) {
  nvs::SelectionOptions result;
  result.inputs = nvs::parse_input_choice(options.select);
  result.every_nth = static_cast<int>(options.every);
  result.seed = seed;
  const bool has_split =
      std::any_of(scene.frames.begin(), scene.frames.end(), [](const nvs::Frame& frame) {
        return frame.usable() &&
               (frame.split == nvs::Split::test || frame.split == nvs::Split::validation);
      });
  if (options.targets == "split" || (options.targets == "auto" && has_split))
    result.targets = nvs::TargetChoice::split;
  else if (options.targets == "rest")
    result.targets = nvs::TargetChoice::rest;
  else if (options.targets == "none")
    result.targets = nvs::TargetChoice::none;
  else
    result.targets = nvs::TargetChoice::every_nth;
  const int usable = static_cast<int>(scene.usable().size());
  // A count beyond what is there means all; select_views() would refuse it.
  int most = usable;
  if (result.targets == nvs::TargetChoice::every_nth)
    most -= (usable + result.every_nth - 1) / result.every_nth;
  if (result.targets == nvs::TargetChoice::split)
    most = static_cast<int>(
        std::count_if(scene.frames.begin(), scene.frames.end(), [](const nvs::Frame& frame) {
          return frame.usable() && frame.split != nvs::Split::test &&
                 frame.split != nvs::Split::validation;
        }));
  if (options.views > 0 && options.views < most)
    result.input_count = static_cast<int>(options.views);
  return result;
}

}  // namespace

RenderScene open_scene(const nvs::SceneLocation& location, const RenderOptions& options) {
  nvs::Scene scene = nvs::read_scene(location, {.keep_world = options.keep_world,
                                                .downscale = static_cast<int>(options.downscale),
                                                .sort_frames = options.sort_frames});
  nvs::RigSummary rig = nvs::summarize_rig(scene);
  std::istringstream lines(nvs::rig_text(rig));
  for (std::string line; std::getline(lines, line);) log_info("{}", printable(line));
  for (const std::string& note : scene.notes) log_info("{}", printable(note));
  for (const std::string& warning : scene.warnings) log_warning("{}", printable(warning));
  for (const std::string& warning : rig.warnings) log_warning("{}", printable(warning));
  RenderScene result;
  result.scene = std::move(scene);
  result.rig = std::move(rig);
  return result;
}

nvs::ViewSelection choose_views(const nvs::Scene& scene, const RenderOptions& options,
                                std::uint64_t seed) {
  nvs::ViewSelection selection;
  if (!options.selection.empty()) {
    selection = nvs::read_selection(scene, options.selection);
  } else {
    const bool both = !options.input_views.empty() && !options.target_views.empty();
    if (!both) selection = nvs::select_views(scene, selection_options(scene, options, seed));
  }
  if (!options.input_views.empty()) {
    selection.inputs = nvs::parse_index_list(options.input_views, "--input-views");
    selection.method = "given lists";
  }
  if (!options.target_views.empty()) {
    selection.targets = nvs::parse_index_list(options.target_views, "--target-views");
    selection.method = "given lists";
  }
  // What one list names by hand is taken from the other, chosen one.
  const auto remove = [](std::vector<int>& from, const std::vector<int>& what) {
    std::erase_if(
        from, [&](int index) { return std::find(what.begin(), what.end(), index) != what.end(); });
  };
  if (!options.input_views.empty() && options.target_views.empty())
    remove(selection.targets, selection.inputs);
  if (options.input_views.empty() && !options.target_views.empty())
    remove(selection.inputs, selection.targets);
  selection.scene_name = scene.name;
  nvs::check_selection(scene, selection);
  for (const int index : nvs::leaked_targets(scene, selection))
    log_warning("view {} is an input and a target: its metrics are too good", index);
  return selection;
}

nvs::ViewOptions view_options(const PixelSize& size, const RenderOptions& options) {
  return {.width = size.width,
          .height = size.height,
          .reference_compat = official(options),
          .workers = static_cast<int>(options.workers)};
}

std::vector<nvs::Camera> frame_cameras(const nvs::Scene& scene, const std::vector<int>& indices,
                                       const PixelSize& size, const RenderOptions& options) {
  std::vector<nvs::Camera> cameras;
  const nvs::ViewOptions view = view_options(size, options);
  for (const int index : indices)
    cameras.push_back(nvs::view_camera(scene.frames[static_cast<std::size_t>(index)], view));
  return cameras;
}

void normalize(RenderScene& scene, const RenderSetup& setup, const RenderOptions& options) {
  scene.mode = options.mode;
  if (options.mode == "auto") {
    scene.mode = options.fit || nvs::object_mode_warnings(scene.rig).empty() ? "object" : "scene";
    if (!options.fit && !setup.trained_mode.empty()) scene.mode = setup.trained_mode;
    log_info("mode {} ({}; --mode decides)", scene.mode,
             options.fit || setup.trained_mode.empty() ? "told from the rig"
                                                       : "as the weights were trained");
  }
  std::vector<int> counted = scene.selection.inputs;
  if (scene.mode == "object") {
    if (options.fit)
      scene.normalization =
          nvs::fit_object(frame_cameras(scene.scene, counted, setup.size, options));
    else
      for (const std::string& warning : nvs::object_mode_warnings(scene.rig))
        log_warning("{}", printable(warning));
  } else {
    TTT_CHECK(!options.fit, usage, "--fit is for objects", "--fit, --mode scene",
              "use --mode object, or leave out --fit");
    if (options.normalize_by == "all")
      counted.insert(counted.end(), scene.selection.targets.begin(), scene.selection.targets.end());
    scene.normalization =
        nvs::normalize_poses(frame_cameras(scene.scene, counted, setup.size, options));
  }
  if (!scene.normalization.remark.empty()) log_warning("{}", printable(scene.normalization.remark));
}

bool renders_targets(const RenderOptions& options) {
  return options.path == "dataset";
}

std::vector<nvs::Camera> path_cameras(const RenderScene* scene,
                                      const nvs::PoseNormalization& normalization,
                                      const std::string& mode, const RenderSetup& setup,
                                      const RenderOptions& options) {
  const int width = setup.render_size.width, height = setup.render_size.height;
  const int frames = static_cast<int>(options.frames);
  if (options.path == "turntable") {
    TTT_CHECK(mode == "object", usage, "a turntable goes around an object at the origin",
              "--path turntable", "use --path orbit for scenes, or --mode object");
    return nvs::turntable_path(
        {.frames = frames, .width = width, .height = height, .swap_size = official(options)});
  }
  std::vector<nvs::Camera> cameras;
  const std::vector<std::string> names{"dataset", "orbit", "spiral", "interpolate"};
  if (std::find(names.begin(), names.end(), options.path) == names.end()) {
    const std::string meant = nearest_name(options.path, names);
    TTT_CHECK(meant.empty() || inputs::exists(options.path), usage,
              "there is no path or file of this name", "--path " + printable(options.path),
              fmt::format("did you mean {}?", meant));
    cameras = nvs::read_camera_path(options.path, width, height);
  } else {
    TTT_CHECK(scene != nullptr, usage, "this path needs the scene's cameras",
              "--path " + options.path, "give the scene too, or --path turntable or FILE.json");
    const bool targets = renders_targets(options);
    std::vector<int> indices = targets ? scene->selection.targets : scene->selection.inputs;
    if (options.path == "interpolate") std::sort(indices.begin(), indices.end());
    TTT_CHECK(!indices.empty(), usage,
              targets ? "there are no target views to render" : "there are no input views",
              "--path " + options.path,
              targets ? "choose --target-views, or another --path" : "choose --input-views");
    const std::vector<nvs::Camera> given =
        frame_cameras(scene->scene, indices, setup.render_size, options);
    if (targets)
      cameras = given;
    else if (options.path == "orbit")
      cameras = nvs::orbit_path(given, frames, width, height, scene->rig.center);
    else if (options.path == "spiral")
      cameras = nvs::spiral_path(given, frames, width, height);
    else
      cameras =
          nvs::interpolated_path(given, static_cast<int>(options.between),
                                 options.interpolation == "linear"   ? nvs::Interpolation::linear
                                 : options.interpolation == "spline" ? nvs::Interpolation::spline
                                                                     : nvs::Interpolation::sphere);
  }
  for (nvs::Camera& camera : cameras) camera = normalization.apply(camera);
  return cameras;
}

}  // namespace ttt::cli
