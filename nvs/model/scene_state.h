// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/lact/fast_weights.h"
#include "nvs/cameras/normalization.h"
#include "nvs/model/config.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace ttt::nvs {

/// Fast weights by the name of their sub-layer ("blocks.0.module_list.1"), each of one sample and
/// with the lengths that updates scale back to.
using FastWeightMap = std::map<std::string, layers::FastWeights>;

/// A reconstructed scene: all that rendering needs beside the model.
struct SceneState {
  LvsmConfig config;
  FastWeightMap layers;
  std::int64_t width = 0;   ///< of the input views
  std::int64_t height = 0;  ///< of the input views
  std::int64_t views = 0;   ///< how many were written, over all updates
  std::int64_t updates = 1;
  std::string mode;                 ///< "object" or "scene"
  PoseNormalization normalization;  ///< how cameras of the scene's world get into the model's
  std::string scene;                ///< its name
  std::string weights_hash;         ///< of the weight file, or "random <seed>"
};

/// Writes the state as safetensors. bfloat16 halves the file; it is meant for rendering only (the
/// pictures differ a little, and added views would start from rounded weights). Throws
/// Error(output).
void save_scene_state(const std::filesystem::path& path, const SceneState& state,
                      layers::StateDtype dtype = layers::StateDtype::float32);

/// Throws Error(weights) for other files, damaged ones, and matrices that don't fit the
/// configuration in the file.
SceneState load_scene_state(const std::filesystem::path& path);

/// Bytes of the matrices and norms in float, or with bfloat16 matrices.
std::int64_t scene_state_bytes(const LvsmConfig& config, layers::StateDtype dtype);

}  // namespace ttt::nvs
