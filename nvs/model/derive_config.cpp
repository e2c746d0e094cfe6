// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The architecture as the names and shapes of a state dict tell it.
#include "nvs/model/config.h"

#include <spdlog/fmt/ranges.h>

#include <cmath>
#include <map>

namespace ttt::nvs {
namespace {

constexpr std::int64_t kPublishedAttentionHead = 64;
constexpr double kPublishedRate = 0.01;
constexpr std::int64_t kPublishedSteps = 5;

using Shape = std::vector<std::int64_t>;

class Shapes {
 public:
  explicit Shapes(std::span<const TensorInfo> tensors) {
    for (const TensorInfo& info : tensors) shapes_[info.name] = &info.shape;
  }
  /// The shape of a tensor with so many dimensions; null when there is none.
  const Shape* find(const std::string& name, std::size_t rank) const {
    const auto found = shapes_.find(name);
    return found != shapes_.end() && found->second->size() == rank ? found->second : nullptr;
  }
  bool any_below(const std::string& prefix) const {
    const auto found = shapes_.lower_bound(prefix);
    return found != shapes_.end() && found->first.starts_with(prefix);
  }

 private:
  std::map<std::string, const Shape*> shapes_;
};

std::optional<LvsmSubLayer> sub_layer(const Shapes& shapes, const std::string& name,
                                      std::int64_t dim, bool& head_assumed) {
  LvsmSubLayer sub;
  if (const Shape* w0 = shapes.find(name + ".f.w0", 3)) {
    if ((*w0)[1] <= 0 || (*w0)[2] <= 0) return std::nullopt;
    sub.kind = SubLayerKind::fast_weights;
    sub.head_dim = (*w0)[1];
    sub.inter_multi = static_cast<double>((*w0)[2]) / static_cast<double>((*w0)[1]);
    sub.base_lr = kPublishedRate;
    sub.newton_schulz_steps = kPublishedSteps;
    return sub;
  }
  if (const Shape* c_fc = shapes.find(name + ".f.c_fc.weight", 2)) {
    sub.kind = SubLayerKind::mlp;
    sub.inter_multi = static_cast<double>((*c_fc)[0]) / static_cast<double>(dim);
    return sub;
  }
  if (shapes.find(name + ".f.to_qkv.weight", 2) == nullptr) return std::nullopt;
  sub.kind = SubLayerKind::attention;
  const Shape* q_norm = shapes.find(name + ".f.q_norm.weight", 1);
  sub.use_qk_norm = q_norm != nullptr;
  sub.head_dim = q_norm != nullptr ? (*q_norm)[0] : kPublishedAttentionHead;
  if (q_norm == nullptr) head_assumed = true;
  return sub;
}

/// A ratio of widths that survives the truncation to int, even if it is no exact double.
void settle_ratio(const LvsmConfig& config, LvsmSubLayer& sub, std::int64_t hidden) {
  if (config.hidden(sub) < hidden)
    sub.inter_multi = std::nextafter(sub.inter_multi, sub.inter_multi + 1);
}

}  // namespace

std::optional<DerivedConfig> derive_lvsm_config(std::span<const TensorInfo> tensors) {
  const Shapes shapes(tensors);
  const Shape* embedding = shapes.find("input_linear.weight", 2);
  if (embedding == nullptr || shapes.find("image_token_decoder.1.weight", 2) == nullptr)
    return std::nullopt;
  DerivedConfig result;
  LvsmConfig& config = result.config;
  config.dim = (*embedding)[0];
  config.patch_size = std::llround(
      std::sqrt(static_cast<double>((*embedding)[1]) / static_cast<double>(kPixelChannels)));
  if (config.dim <= 0 || config.patch_size <= 0 ||
      config.patch_size * config.patch_size * kPixelChannels != (*embedding)[1])
    return std::nullopt;
  config.layers = 0;
  while (shapes.any_below(fmt::format("blocks.{}.", config.layers))) ++config.layers;
  bool head_assumed = false;
  for (std::size_t i = 0; shapes.any_below(sub_layer_name(0, i) + "."); ++i) {
    const auto sub = sub_layer(shapes, sub_layer_name(0, i), config.dim, head_assumed);
    if (!sub) return std::nullopt;
    config.block.push_back(*sub);
    if (sub->kind == SubLayerKind::fast_weights)
      settle_ratio(config, config.block.back(),
                   (*shapes.find(sub_layer_name(0, i) + ".f.w0", 3))[2]);
    if (sub->kind == SubLayerKind::mlp)
      settle_ratio(config, config.block.back(),
                   (*shapes.find(sub_layer_name(0, i) + ".f.c_fc.weight", 2))[0]);
  }
  if (config.layers == 0 || config.block.empty()) return std::nullopt;
  result.assumed = fmt::format("muon_update_steps {}, base_lr {}", kPublishedSteps, kPublishedRate);
  if (head_assumed)
    result.assumed += fmt::format(", attention head_dim {}", kPublishedAttentionHead);
  return result;
}

}  // namespace ttt::nvs
