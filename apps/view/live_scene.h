// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/render/views.h"
#include "apps/view/options.h"
#include "apps/view/server.h"
#include "nvs/model/scene_state.h"

#include <optional>
#include <span>
#include <string>

namespace ttt::cli {

/// Size of the pictures while the camera moves. Throws Error(usage).
PixelSize drag_size(const RenderSetup& setup, const ViewOptions& options);

/// A reconstructed scene that is looked at: what the page knows of it, and pictures of any view.
class LiveScene {
 public:
  /// `scene` is empty when a state is looked at alone. `setup` must outlive it.
  LiveScene(const RenderSetup& setup, const ViewOptions& options, nvs::SceneState state,
            std::optional<RenderScene> scene);

  /// What the page shows: scene, model, mode, device, input_views, size, drag_size, start (a view),
  /// poses ({index, name, input, view} of the frames) and paths ({name, views}).
  nlohmann::ordered_json describe() const;
  /// PNG in full size, JPEG in drafts.
  ViewedPicture render(const nvs::OrbitView& view, bool draft);
  /// What camera_path_json() makes of the views.
  std::string camera_file(std::span<const nvs::OrbitView> views) const;

  std::int64_t rendered() const { return rendered_; }
  double render_milliseconds() const { return milliseconds_; }

 private:
  nlohmann::ordered_json poses() const;
  nlohmann::ordered_json paths() const;
  nlohmann::ordered_json path_views(std::span<const nvs::Camera> cameras) const;
  std::vector<nvs::Camera> cameras_of(const std::vector<int>& frames) const;
  std::vector<nvs::Camera> turntable() const;
  std::vector<nvs::Camera> stand_ins() const;

  const RenderSetup& setup_;
  const ViewOptions& options_;
  nvs::SceneState state_;
  std::optional<RenderScene> scene_;
  PixelSize drag_size_;
  std::vector<nvs::Camera> inputs_;  ///< in the scene's world
  nvs::OrbitFrame frame_;
  std::int64_t rendered_ = 0;
  double milliseconds_ = 0;
};

}  // namespace ttt::cli
