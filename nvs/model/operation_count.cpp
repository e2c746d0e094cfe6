// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/model/operation_count.h"

#include <algorithm>

namespace ttt::nvs {
namespace {

/// Operations of the parts of a model. Per token, where nothing else is said.
class Counter {
 public:
  Counter(const LvsmConfig& config, std::int64_t width, std::int64_t height)
      : config_(config),
        dim_(static_cast<double>(config.dim)),
        pixels_(static_cast<double>(config.patch_size * config.patch_size)),
        tokens_(static_cast<double>(width * height) / pixels_) {}

  double tokens_per_view() const { return tokens_; }
  double embed(std::int64_t channels) const {
    return 2 * static_cast<double>(channels) * pixels_ * dim_;
  }
  double decode() const { return 2 * 3 * pixels_ * dim_; }

  /// Projections, and scores and sums over the view's own tokens.
  double attention() const { return 8 * dim_ * dim_ + 4 * tokens_ * dim_; }
  double mlp(const LvsmSubLayer& sub) const { return 4 * dim_ * hidden(sub); }
  /// Query, the network, and the output's projection.
  double apply(const LvsmSubLayer& sub) const { return 4 * dim_ * dim_ + 6 * dim_ * hidden(sub); }
  /// Key, value and rates, and the sums of the gradient.
  double gradient(const LvsmSubLayer& sub) const {
    return 4 * dim_ * dim_ + 6 * heads(sub) * dim_ + 12 * dim_ * hidden(sub);
  }
  /// What the tokens don't share in: Newton-Schulz on three matrices a head.
  double update(const LvsmSubLayer& sub) const {
    const auto head_dim = static_cast<double>(sub.head_dim);
    const double m = std::min(head_dim, hidden(sub)), n = std::max(head_dim, hidden(sub));
    return 3 * heads(sub) * static_cast<double>(sub.newton_schulz_steps) *
           (3 * m * m * n + m * m * m);
  }

 private:
  double heads(const LvsmSubLayer& sub) const { return static_cast<double>(config_.heads(sub)); }
  double hidden(const LvsmSubLayer& sub) const { return static_cast<double>(config_.hidden(sub)); }

  const LvsmConfig& config_;
  double dim_, pixels_, tokens_;
};

}  // namespace

double reconstruct_operations(const LvsmConfig& config, std::int64_t views, std::int64_t width,
                              std::int64_t height) {
  const Counter counter(config, width, height);
  const auto is_update = [](const LvsmSubLayer& sub) {
    return sub.kind == SubLayerKind::fast_weights;
  };
  const auto last = std::find_if(config.block.rbegin(), config.block.rend(), is_update);
  double token = counter.embed(kPixelChannels), once = 0;
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    for (auto sub = config.block.begin(); sub != config.block.end(); ++sub) {
      if (layer + 1 == config.layers && sub >= last.base()) break;
      const bool final = layer + 1 == config.layers && sub + 1 == last.base();
      if (sub->kind == SubLayerKind::attention) token += counter.attention();
      if (sub->kind == SubLayerKind::mlp) token += counter.mlp(*sub);
      if (!is_update(*sub)) continue;
      token += counter.gradient(*sub) + (final ? 0 : counter.apply(*sub));
      once += counter.update(*sub);
    }
  return static_cast<double>(views) * counter.tokens_per_view() * token + once;
}

double render_operations(const LvsmConfig& config, std::int64_t views, std::int64_t width,
                         std::int64_t height) {
  const Counter counter(config, width, height);
  double block = 0;
  for (const LvsmSubLayer& sub : config.block) {
    if (sub.kind == SubLayerKind::attention) block += counter.attention();
    if (sub.kind == SubLayerKind::mlp) block += counter.mlp(sub);
    if (sub.kind == SubLayerKind::fast_weights) block += counter.apply(sub);
  }
  return static_cast<double>(views) * counter.tokens_per_view() *
         (counter.embed(kRayChannels) + counter.decode() +
          static_cast<double>(config.layers) * block);
}

}  // namespace ttt::nvs
