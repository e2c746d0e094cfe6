// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/render/reconstruction.h"

#include "apps/common/text.h"
#include "core/error.h"
#include "core/log.h"

#include <spdlog/fmt/fmt.h>

namespace ttt::cli {

nvs::SceneState open_state(const RenderSetup& setup, const RenderOptions& options) {
  nvs::SceneState state = nvs::load_scene_state(options.state);
  const std::string where = printable(options.state);
  TTT_CHECK(state.config == setup.config, weights,
            fmt::format("the state belongs to {}, the weights are {}", state.config.name(),
                        setup.config.name()),
            where, "use the weights that the state was made with");
  TTT_CHECK(state.weights_hash == setup.weights_hash.get(), weights,
            "the state was made with other weights", where,
            "use the weights that the state was made with");
  TTT_CHECK(options.mode == "auto" || options.mode == state.mode, usage,
            fmt::format("the state is in mode {}", state.mode), "--mode " + options.mode,
            "leave out --mode");
  log_info("state: {}, {} input views of {}x{}, mode {}", printable(state.scene), state.views,
           state.width, state.height, state.mode);
  return state;
}

nvs::SceneState new_state(const RenderSetup& setup, const RenderScene& scene) {
  nvs::SceneState state;
  state.config = setup.config;
  state.layers = setup.renderer->initial_state();
  state.width = setup.size.width;
  state.height = setup.size.height;
  state.mode = scene.mode;
  state.normalization = scene.normalization;
  state.scene = utf8_text(scene.scene.name);
  state.weights_hash = setup.weights_hash.get();
  return state;
}

InputViews load_input_views(const RenderSetup& setup, const RenderOptions& options,
                            const RenderScene& scene, const ProgressCallback& progress) {
  InputViews result;
  result.views = nvs::load_views(scene.scene, scene.selection.inputs,
                                 view_options(setup.size, options), progress);
  std::vector<nvs::Camera> cameras;
  std::vector<const Image*> images;
  for (const nvs::View& view : result.views) {
    if (view.error) {
      log_warning("{}", view.error->what());
      result.failed.emplace_back(view.error->what());
      continue;
    }
    cameras.push_back(scene.normalization.apply(view.camera));
    images.push_back(&view.image);
  }
  if (images.empty()) {
    const std::optional<Error>& first = result.views.front().error;
    throw Error(ErrorKind::input, "no input view can be read: " + first->message(), first->where(),
                first->hint());
  }
  result.posed = {nvs::camera_tensors(cameras), nvs::image_bytes(images)};
  return result;
}

}  // namespace ttt::cli
