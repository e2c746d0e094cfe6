// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/weight_file.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::nvs {

/// Channels of a pixel as the model sees it: ray origin, ray direction, their cross product, and
/// 2 rgb - 1 (zeros where the picture is unknown).
constexpr std::int64_t kRayChannels = 9;
constexpr std::int64_t kPixelChannels = 12;

enum class SubLayerKind { attention, fast_weights, mlp };

/// One pre-norm residual sub-layer of a block; the fields of the other kinds don't count.
struct LvsmSubLayer {
  SubLayerKind kind = SubLayerKind::mlp;
  std::int64_t head_dim = 64;            ///< attention, fast_weights
  bool use_qk_norm = true;               ///< attention
  double inter_multi = 4;                ///< fast_weights (of head_dim), mlp (of dim)
  double base_lr = 0.01;                 ///< fast_weights
  std::int64_t newton_schulz_steps = 0;  ///< fast_weights
  bool operator==(const LvsmSubLayer&) const = default;
};

/// Architecture of a LaCT-LVSM model (a1600012888/LaCT: lact_nvs/model.py, and its config files).
struct LvsmConfig {
  std::int64_t patch_size = 8;
  std::int64_t dim = 768;
  std::int64_t layers = 24;
  std::vector<LvsmSubLayer> block;  ///< the sub-layers of every block, in order
  bool operator==(const LvsmConfig&) const = default;

  std::int64_t heads(const LvsmSubLayer& sub) const { return dim / sub.head_dim; }
  /// Hidden width of fast weights (per head) or of an MLP.
  std::int64_t hidden(const LvsmSubLayer& sub) const;
  std::int64_t parameter_count() const;
  /// A preset's name where the architecture is a published one, else "lvsm" with its dimensions.
  std::string name() const;
};

/// The name of a sub-layer's module in the checkpoints.
std::string sub_layer_name(std::int64_t block, std::size_t sub);

/// A published architecture.
struct LvsmPreset {
  std::string_view name;     ///< "lact_l24_d768_ttt2x", as the official configuration file
  std::string_view summary;  ///< size and what was trained with it
  LvsmConfig config;
};
std::span<const LvsmPreset> lvsm_presets();
/// Throws Error(usage) that lists the names.
const LvsmPreset& find_lvsm_preset(std::string_view name);

/// Throws Error(usage), with `where`, for an architecture that can't be built or run: sizes that
/// don't fit each other, no fast weights, or absurd dimensions.
void check_config(const LvsmConfig& config, const std::string& where);

/// Reads a configuration file in the official schema. Throws Error(usage) that names the line for
/// unknown keys and values, and for sub-layers that can't be run (attention over all views, fast
/// weights within one view).
LvsmConfig read_lvsm_config(const std::string& path);

/// What names and shapes of a state dict tell; empty when they are not those of such a model.
/// `assumed` says what shapes can't tell and was taken from the published models: Newton-Schulz
/// steps, base rate, and the attention's head width without qk-norm.
struct DerivedConfig {
  LvsmConfig config;
  std::string assumed;
};
std::optional<DerivedConfig> derive_lvsm_config(std::span<const TensorInfo> tensors);

/// The configuration as one line of JSON, for metadata, and back. Reading throws Error(weights)
/// with `where`.
std::string config_to_json(const LvsmConfig& config);
LvsmConfig config_from_json(const std::string& text, const std::string& where);

}  // namespace ttt::nvs
