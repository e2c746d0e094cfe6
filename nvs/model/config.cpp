// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/model/config.h"

#include "core/error.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/ranges.h>

#include <array>
#include <cmath>

namespace ttt::nvs {
namespace {

// Far beyond any published model, and still far from overflow.
constexpr std::int64_t kMaxDim = 65536;
constexpr std::int64_t kMaxLayers = 4096;
constexpr std::int64_t kMaxPatch = 256;
constexpr double kMaxMultiple = 64;
constexpr std::int64_t kMaxSteps = 100;

LvsmConfig published(std::int64_t layers, double inter_multi) {
  LvsmConfig config;
  config.layers = layers;
  config.block = {{.kind = SubLayerKind::attention, .head_dim = 64, .use_qk_norm = true},
                  {.kind = SubLayerKind::fast_weights,
                   .head_dim = 768,
                   .inter_multi = inter_multi,
                   .base_lr = 0.01,
                   .newton_schulz_steps = 5},
                  {.kind = SubLayerKind::mlp, .inter_multi = 4}};
  return config;
}

bool same_architecture(const LvsmConfig& a, const LvsmConfig& b) {
  if (a.patch_size != b.patch_size || a.dim != b.dim || a.layers != b.layers ||
      a.block.size() != b.block.size())
    return false;
  for (std::size_t i = 0; i < a.block.size(); ++i) {
    const LvsmSubLayer &x = a.block[i], &y = b.block[i];
    if (x.kind != y.kind) return false;
    if (x.kind != SubLayerKind::mlp && x.head_dim != y.head_dim) return false;
    if (x.kind == SubLayerKind::attention && x.use_qk_norm != y.use_qk_norm) return false;
    if (x.kind != SubLayerKind::attention && a.hidden(x) != b.hidden(y)) return false;
  }
  return true;
}

std::int64_t sub_layer_parameters(const LvsmConfig& config, const LvsmSubLayer& sub) {
  const std::int64_t dim = config.dim;
  switch (sub.kind) {
    case SubLayerKind::attention:
      return dim + 4 * dim * dim + (sub.use_qk_norm ? 2 * sub.head_dim : 0);
    case SubLayerKind::fast_weights: {
      const std::int64_t heads = config.heads(sub);
      return dim + 3 * dim * config.hidden(sub) + 4 * dim * dim + 3 * heads * (dim + 1) +
             sub.head_dim;
    }
    case SubLayerKind::mlp:
      break;
  }
  return dim + 2 * dim * config.hidden(sub);
}

void check_sub_layer(const LvsmConfig& config, const LvsmSubLayer& sub, const std::string& where) {
  const char* hint = "correct the configuration";
  TTT_CHECK(sub.kind == SubLayerKind::mlp || (sub.head_dim > 0 && config.dim % sub.head_dim == 0),
            usage, fmt::format("head_dim {} doesn't divide dim {}", sub.head_dim, config.dim),
            where, hint);
  TTT_CHECK(sub.kind == SubLayerKind::attention ||
                (sub.inter_multi > 0 && sub.inter_multi <= kMaxMultiple && config.hidden(sub) > 0),
            usage, fmt::format("inter_multi is {}", sub.inter_multi), where, hint);
  if (sub.kind != SubLayerKind::fast_weights) return;
  TTT_CHECK(sub.base_lr > 0 && sub.base_lr <= 100, usage, fmt::format("base_lr is {}", sub.base_lr),
            where, hint);
  TTT_CHECK(sub.newton_schulz_steps >= 0 && sub.newton_schulz_steps <= kMaxSteps, usage,
            fmt::format("muon_update_steps is {}", sub.newton_schulz_steps), where, hint);
}

constexpr std::array<const char*, 3> kKindNames{"attention", "fast_weights", "mlp"};

}  // namespace

std::int64_t LvsmConfig::hidden(const LvsmSubLayer& sub) const {
  const std::int64_t width = sub.kind == SubLayerKind::fast_weights ? sub.head_dim : dim;
  return static_cast<std::int64_t>(static_cast<double>(width) * sub.inter_multi);
}

std::int64_t LvsmConfig::parameter_count() const {
  std::int64_t per_block = 0;
  for (const LvsmSubLayer& sub : block) per_block += sub_layer_parameters(*this, sub);
  const std::int64_t pixels = patch_size * patch_size;
  return dim * (kPixelChannels + 3) * pixels + 2 * dim + layers * per_block;
}

std::string LvsmConfig::name() const {
  for (const LvsmPreset& preset : lvsm_presets())
    if (same_architecture(*this, preset.config)) return std::string(preset.name);
  std::string heads;
  for (const LvsmSubLayer& sub : block)
    if (sub.kind == SubLayerKind::fast_weights)
      heads = fmt::format(", {} fast-weight head{} of {}x{}", this->heads(sub),
                          this->heads(sub) == 1 ? "" : "s", sub.head_dim, hidden(sub));
  return fmt::format("lvsm (dim {}, layers {}, patch {}{})", dim, layers, patch_size, heads);
}

std::string sub_layer_name(std::int64_t block, std::size_t sub) {
  return fmt::format("blocks.{}.module_list.{}", block, sub);
}

std::span<const LvsmPreset> lvsm_presets() {
  static const std::array<LvsmPreset, 3> kPresets{{
      {"lact_l14_d768_ttt2x", "182.5 M parameters; no published weights", published(14, 2)},
      {"lact_l24_d768_ttt2x",
       "312.3 M parameters; objects at 256, 512, 1024, scenes at 128, 256, 512 pixels",
       published(24, 2)},
      {"lact_l24_d768_ttt4x",
       "397.2 M parameters; scenes at 128x72, 256x144, 512x288, 960x536 pixels", published(24, 4)},
  }};
  return kPresets;
}

const LvsmPreset& find_lvsm_preset(std::string_view name) {
  std::vector<std::string_view> names;
  for (const LvsmPreset& preset : lvsm_presets()) {
    if (preset.name == name) return preset;
    names.push_back(preset.name);
  }
  throw Error(ErrorKind::usage, "unknown model \"" + printable(name) + "\"", "--model",
              fmt::format("use one of {}", fmt::join(names, ", ")));
}

void check_config(const LvsmConfig& config, const std::string& where) {
  const auto in_range = [&](const char* name, std::int64_t value, std::int64_t most) {
    TTT_CHECK(value > 0 && value <= most, usage, fmt::format("{} is {}", name, value), where,
              fmt::format("use a number from 1 to {}", most));
  };
  in_range("patch_size", config.patch_size, kMaxPatch);
  in_range("dim", config.dim, kMaxDim);
  in_range("layers", config.layers, kMaxLayers);
  bool fast_weights = false;
  for (const LvsmSubLayer& sub : config.block) {
    check_sub_layer(config, sub, where);
    fast_weights |= sub.kind == SubLayerKind::fast_weights;
  }
  TTT_CHECK(fast_weights, usage, "the blocks have no fast weights, so no view would see another",
            where, "add a sub-layer of type lact_ttt.FastWeightGluMLPMultihead");
}

std::string config_to_json(const LvsmConfig& config) {
  nlohmann::ordered_json block = nlohmann::ordered_json::array();
  for (const LvsmSubLayer& sub : config.block) {
    nlohmann::ordered_json entry{{"kind", kKindNames[static_cast<std::size_t>(sub.kind)]}};
    if (sub.kind != SubLayerKind::mlp) entry["head_dim"] = sub.head_dim;
    if (sub.kind == SubLayerKind::attention) entry["use_qk_norm"] = sub.use_qk_norm;
    if (sub.kind != SubLayerKind::attention) entry["inter_multi"] = sub.inter_multi;
    if (sub.kind == SubLayerKind::fast_weights) {
      entry["base_lr"] = sub.base_lr;
      entry["muon_update_steps"] = sub.newton_schulz_steps;
    }
    block.push_back(std::move(entry));
  }
  return nlohmann::ordered_json{{"patch_size", config.patch_size},
                                {"dim", config.dim},
                                {"layers", config.layers},
                                {"block", std::move(block)}}
      .dump();
}

LvsmConfig config_from_json(const std::string& text, const std::string& where) {
  try {
    const auto json = nlohmann::json::parse(text);
    LvsmConfig config;
    json.at("patch_size").get_to(config.patch_size);
    json.at("dim").get_to(config.dim);
    json.at("layers").get_to(config.layers);
    for (const auto& entry : json.at("block")) {
      LvsmSubLayer sub;
      const auto kind = entry.at("kind").get<std::string>();
      if (kind == "attention") {
        sub.kind = SubLayerKind::attention;
        entry.at("head_dim").get_to(sub.head_dim);
        entry.at("use_qk_norm").get_to(sub.use_qk_norm);
      } else if (kind == "fast_weights") {
        sub.kind = SubLayerKind::fast_weights;
        entry.at("head_dim").get_to(sub.head_dim);
        entry.at("inter_multi").get_to(sub.inter_multi);
        entry.at("base_lr").get_to(sub.base_lr);
        entry.at("muon_update_steps").get_to(sub.newton_schulz_steps);
      } else {
        TTT_CHECK(kind == "mlp", weights, "unknown sub-layer \"" + printable(kind) + "\"", where,
                  "use a file written by this program");
        entry.at("inter_multi").get_to(sub.inter_multi);
      }
      config.block.push_back(sub);
    }
    check_config(config, where);
    return config;
  } catch (const Error& error) {
    throw Error(ErrorKind::weights, "the model's configuration makes no sense: " + error.message(),
                where, "use a file written by this program");
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::weights, "the model's configuration can't be read", where,
                "use a file written by this program");
  }
}

}  // namespace ttt::nvs
