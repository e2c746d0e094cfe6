// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/render/scene_run.h"

namespace ttt::cli {

/// One call of `ttt render`: scenes in order, rows, summary.
class RenderRun {
 public:
  RenderRun(const OptionTable& table, const RenderOptions& options);
  /// Returns the exit code, or throws Error for what ends a run.
  int run();

 private:
  void find_scenes();
  int dry_run(const RenderSetup& setup);
  void run_scene(const RenderJob& job, std::size_t index);
  void finish(const RenderSetup& setup);

  const OptionTable& table_;
  const RenderOptions& options_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<nvs::SceneLocation> locations_;  ///< empty when a state is rendered without a scene
  std::vector<RenderPaths> paths_;
  std::uint64_t seed_ = 0;
  std::unique_ptr<ResultSink> sink_;
  nlohmann::ordered_json summaries_ = nlohmann::ordered_json::array();
  std::optional<Error> last_error_;
  std::vector<std::string> failed_pictures_;
  std::size_t failed_scenes_ = 0;
  std::int64_t rendered_ = 0;
  bool interrupted_ = false;
};

}  // namespace ttt::cli
