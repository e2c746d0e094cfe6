// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/render/options.h"
#include "core/media/frame_writer.h"

#include <memory>
#include <string>
#include <vector>

namespace ttt::cli {

/// The files of one scene, {scene} replaced.
struct RenderPaths {
  std::string output, metrics, tensors, sheet, rig, inner_plot, save_state, save_selection;
};

/// Checks before any work that all of them can be written, and that every scene of several has its
/// own. Throws Error(usage) or Error(output).
std::vector<RenderPaths> resolve_paths(const RenderOptions& options,
                                       const std::vector<std::string>& scenes);

/// Where the run record of an output lies beside: the name without a slash at its end.
std::string record_name(const std::string& output);

/// Takes the rendered pictures of one scene.
class FrameOutput {
 public:
  /// Opens the output or checks its names. An empty path takes and forgets everything. `texts` are
  /// kept inside PNG files.
  FrameOutput(std::string path, std::int64_t frames, const RenderOptions& options,
              std::vector<PngText> texts);

  /// Pictures at the start of the sequence that an earlier run has done (--resume).
  std::int64_t finished() const { return finished_; }
  /// The file that the picture went to, empty without an output.
  std::string add(const Image& image);
  void finish();

 private:
  std::string path_;
  std::int64_t finished_ = 0;
  std::unique_ptr<FrameWriter> writer_;
};

}  // namespace ttt::cli
