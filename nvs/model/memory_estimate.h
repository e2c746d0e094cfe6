// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/model/renderer.h"

namespace ttt::nvs {

/// What a run is asked to do.
struct RunSize {
  std::int64_t input_views = 0;   ///< 0: nothing is reconstructed
  std::int64_t target_views = 0;  ///< of one call of render()
  std::int64_t width = 0, height = 0;
  std::int64_t target_width = 0, target_height = 0;
};

/// Bytes of tensors at the peaks of a run on the CPU, without the program and its libraries.
struct MemoryEstimate {
  std::int64_t weights = 0;      ///< the model as the renderer keeps it
  std::int64_t loading = 0;      ///< what loading needs beside them
  std::int64_t inputs = 0;       ///< input pictures, as read and as the renderer takes them
  std::int64_t residual = 0;     ///< of all input tokens
  std::int64_t state = 0;        ///< updated fast weights and their norms
  std::int64_t reconstruct = 0;  ///< a tile with sums of gradients, or an update
  std::int64_t render = 0;       ///< a tile, and the pictures of one call

  /// The largest of loading, reconstructing and rendering. Input pictures stay for the whole run.
  std::int64_t peak() const;
};
MemoryEstimate estimate_memory(const LvsmConfig& config, const RunSize& size,
                               const RendererOptions& options);

/// Tokens of so many views.
std::int64_t token_count(const LvsmConfig& config, std::int64_t views, std::int64_t width,
                         std::int64_t height);

}  // namespace ttt::nvs
