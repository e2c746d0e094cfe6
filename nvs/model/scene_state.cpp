// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/model/scene_state.h"

#include "core/error.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

#include <cmath>

namespace ttt::nvs {
namespace {

constexpr const char* kKey = "ttt_scene_state";
constexpr const char* kHint = "use a file written by `ttt render --save-state`";

std::string metadata_text(const SceneState& state) {
  return nlohmann::ordered_json{{"config", config_to_json(state.config)},
                                {"width", state.width},
                                {"height", state.height},
                                {"views", state.views},
                                {"updates", state.updates},
                                {"mode", state.mode},
                                {"pose", matrix4(state.normalization.to_normal)},
                                {"scale", state.normalization.scale},
                                {"scene", state.scene},
                                {"weights_hash", state.weights_hash}}
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// A rotation and a shift, up to rounding: poses that a normalisation made.
bool is_rigid(const Transform& change) {
  constexpr double kRounding = 1e-6, kFar = 1e15;
  const Matrix3 product = transpose(change.linear) * change.linear;
  for (std::size_t i = 0; i < product.m.size(); ++i)
    if (!(std::abs(product.m[i] - (i % 4 == 0 ? 1 : 0)) < kRounding)) return false;
  return length(change.translation) < kFar;
}

void read_metadata(const std::string& text, const std::string& where, SceneState& state) {
  try {
    const auto json = nlohmann::json::parse(text);
    state.config = config_from_json(json.at("config").get<std::string>(), where);
    json.at("width").get_to(state.width);
    json.at("height").get_to(state.height);
    json.at("views").get_to(state.views);
    json.at("updates").get_to(state.updates);
    json.at("mode").get_to(state.mode);
    const auto pose = json.at("pose").get<std::array<double, 16>>();
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t column = 0; column < 3; ++column)
        state.normalization.to_normal.linear(row, column) = pose[4 * row + column];
    state.normalization.to_normal.translation = {pose[3], pose[7], pose[11]};
    json.at("scale").get_to(state.normalization.scale);
    json.at("scene").get_to(state.scene);
    json.at("weights_hash").get_to(state.weights_hash);
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::weights, "the scene state's description can't be read", where, kHint);
  }
  constexpr double kSmall = 1e-15, kLarge = 1e15;
  const double scale = state.normalization.scale;
  TTT_CHECK((state.mode == "object" || state.mode == "scene") && state.width > 0 &&
                state.height > 0 && state.views >= 0 && scale > kSmall && scale < kLarge &&
                is_rigid(state.normalization.to_normal),
            weights, "the scene state's description makes no sense", where, kHint);
}

void check_layers(const SceneState& state, const std::string& where) {
  std::size_t count = 0;
  for (std::int64_t i = 0; i < state.config.layers; ++i)
    for (std::size_t j = 0; j < state.config.block.size(); ++j) {
      const LvsmSubLayer& sub = state.config.block[j];
      if (sub.kind != SubLayerKind::fast_weights) continue;
      ++count;
      const std::string name = sub_layer_name(i, j);
      const auto found = state.layers.find(name);
      TTT_CHECK(found != state.layers.end(), weights,
                "the fast weights of " + name + " are missing", where, kHint);
      const at::Tensor& w0 = found->second.weights.w0;
      TTT_CHECK(w0.sizes() == at::IntArrayRef({1, state.config.heads(sub), sub.head_dim,
                                               state.config.hidden(sub)}) &&
                    found->second.has_norms(),
                weights, "the fast weights of " + name + " don't fit the configuration", where,
                kHint);
    }
  TTT_CHECK(count == state.layers.size(), weights,
            "there are fast weights that the configuration doesn't have", where, kHint);
}

}  // namespace

void save_scene_state(const std::filesystem::path& path, const SceneState& state,
                      layers::StateDtype dtype) {
  layers::save_fast_weights(path, state.layers, {{kKey, metadata_text(state)}}, dtype);
}

SceneState load_scene_state(const std::filesystem::path& path) {
  layers::FastWeightsFile file = layers::load_fast_weights(path);
  const std::string where = printable(path.string());
  const auto text = file.metadata.find(kKey);
  TTT_CHECK(text != file.metadata.end(), weights, "these fast weights are not those of a scene",
            where, kHint);
  SceneState state;
  state.layers = std::move(file.layers);
  read_metadata(text->second, where, state);
  check_layers(state, where);
  return state;
}

std::int64_t scene_state_bytes(const LvsmConfig& config, layers::StateDtype dtype) {
  const std::int64_t matrix_bytes = dtype == layers::StateDtype::bfloat16 ? 2 : 4;
  std::int64_t bytes = 0;
  for (const LvsmSubLayer& sub : config.block)
    if (sub.kind == SubLayerKind::fast_weights)
      bytes += config.layers * config.heads(sub) *
               (3 * sub.head_dim * config.hidden(sub) * matrix_bytes +
                (2 * config.hidden(sub) + sub.head_dim) * 4);
  return bytes;
}

}  // namespace ttt::nvs
