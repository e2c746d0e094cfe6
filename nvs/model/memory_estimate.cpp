// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Follows the lifetimes of the tensors in renderer.cpp and renderer_parts.cpp; a test compares it
// with what LibTorch's allocator counts.
#include "nvs/model/memory_estimate.h"

#include <algorithm>

namespace ttt::nvs {
namespace {

constexpr std::int64_t kFloat = 4;
constexpr std::int64_t kOpTile = 512;  // tokens that the gradient's CPU version arranges at a time

class Estimator {
 public:
  Estimator(const LvsmConfig& config, const RendererOptions& options)
      : config_(config),
        tile_tokens_(options.tile_tokens),
        factor_(static_cast<std::int64_t>(c10::elementSize(options.dtype))),
        narrow_(options.dtype == at::kBFloat16) {}

  std::int64_t weights() const {
    const std::int64_t blocks = config_.parameter_count() - ends() - fast_weights();
    return (ends() + fast_weights()) * kFloat + blocks * factor_;
  }

  /// The model in float, and then a copy of the matrices that change.
  std::int64_t loading() const {
    const std::int64_t model = config_.parameter_count() * kFloat;
    std::int64_t copies = 0;
    for (const LvsmSubLayer& sub : config_.block)
      if (sub.kind == SubLayerKind::fast_weights)
        copies += config_.layers * config_.dim * config_.dim * kFloat;
    if (narrow_) copies = (config_.parameter_count() - ends() - fast_weights()) * factor_;
    return model + copies - weights();
  }

  std::int64_t state() const {
    std::int64_t bytes = 0;
    for (const LvsmSubLayer& sub : config_.block)
      if (sub.kind == SubLayerKind::fast_weights) bytes += matrices(sub) + norms(sub);
    return bytes * config_.layers;
  }

  /// What a tile of input views needs while its gradient is added, or the update after it.
  std::int64_t reconstruct(std::int64_t views, std::int64_t tokens) const {
    const std::int64_t group = std::min(views, std::max<std::int64_t>(1, tile_tokens_ / tokens));
    const std::int64_t rows = group * tokens, part = std::min(rows, tile_tokens_);
    std::int64_t peak = 0;
    for (const LvsmSubLayer& sub : config_.block) {
      if (sub.kind != SubLayerKind::fast_weights) continue;
      std::int64_t tile = std::max(embed(rows, true), apply(sub, part));
      for (const LvsmSubLayer& other : config_.block)
        tile = std::max(tile, stage(other, rows, part));
      tile = std::max(tile, gradient(sub, part));
      peak = std::max({peak, matrices(sub) + tile, update(sub)});
    }
    return peak;
  }

  std::int64_t render(std::int64_t views, std::int64_t tokens) const {
    const std::int64_t group = std::min(views, std::max<std::int64_t>(1, tile_tokens_ / tokens));
    const std::int64_t rows = group * tokens, part = std::min(rows, tile_tokens_);
    const std::int64_t pixels = config_.patch_size * config_.patch_size * 3;
    std::int64_t tile = std::max(embed(rows, false), 2 * rows * (config_.dim + pixels) * kFloat);
    for (const LvsmSubLayer& sub : config_.block)
      tile = std::max(
          tile, sub.kind == SubLayerKind::fast_weights ? apply(sub, part) : stage(sub, rows, part));
    return views * tokens * pixels * kFloat + rows * config_.dim * kFloat + tile;
  }

 private:
  /// Parameters of embedding and decoder, which stay float.
  std::int64_t ends() const {
    return config_.dim * (kPixelChannels + 3) * config_.patch_size * config_.patch_size +
           2 * config_.dim;
  }
  std::int64_t fast_weights() const {
    std::int64_t count = 0;
    for (const LvsmSubLayer& sub : config_.block)
      if (sub.kind == SubLayerKind::fast_weights) count += 3 * config_.dim * config_.hidden(sub);
    return count * config_.layers;
  }
  std::int64_t matrices(const LvsmSubLayer& sub) const {
    return 3 * config_.dim * config_.hidden(sub) * kFloat;
  }
  std::int64_t norms(const LvsmSubLayer& sub) const {
    return config_.heads(sub) * (2 * config_.hidden(sub) + sub.head_dim) * kFloat;
  }

  std::int64_t embed(std::int64_t rows, bool pictures) const {
    const std::int64_t pixels = config_.patch_size * config_.patch_size;
    const std::int64_t operand = kPixelChannels * pixels;
    // Beside the operand: directions, their length and products; colours; the two results.
    const std::int64_t rays = 7 * pixels, colours = pictures ? 3 * pixels : 0;
    return rows * kFloat * (operand + std::max({rays, colours, 2 * config_.dim}));
  }

  /// The normed operand, in float first.
  std::int64_t operand(std::int64_t rows) const {
    return rows * config_.dim * (narrow_ ? factor_ + kFloat : kFloat);
  }

  std::int64_t stage(const LvsmSubLayer& sub, std::int64_t rows, std::int64_t part) const {
    const std::int64_t dim = config_.dim;
    if (sub.kind == SubLayerKind::fast_weights) return 0;
    if (sub.kind == SubLayerKind::mlp)
      return part * (dim + config_.hidden(sub)) * factor_ + (narrow_ ? part * dim * factor_ : 0);
    // Keys and values of all rows; operand, queries and their norm's steps of a part.
    const std::int64_t norm = !sub.use_qk_norm ? dim * factor_
                              : narrow_        ? dim * (factor_ + 3 * kFloat)
                                               : 2 * dim * kFloat;
    return rows * 2 * dim * factor_ + part * (2 * dim * factor_ + norm);
  }

  std::int64_t packed(const LvsmSubLayer& sub) const {
    return 3 * config_.dim * ((config_.hidden(sub) + 63) / 64 * 64) * factor_;
  }
  std::int64_t gradient(const LvsmSubLayer& sub, std::int64_t part) const {
    const std::int64_t dim = config_.dim;
    const std::int64_t tokens =
        part * dim * (kFloat + 2 * factor_) + part * dim * (narrow_ ? 2 * kFloat : kFloat);
    const std::int64_t op = packed(sub) + 2 * std::min(part, kOpTile) * dim * factor_;
    return std::max(tokens, part * 3 * dim * factor_ + op);
  }
  std::int64_t apply(const LvsmSubLayer& sub, std::int64_t part) const {
    const std::int64_t dim = config_.dim;
    const std::int64_t norm = narrow_ ? dim * 2 * kFloat : dim * kFloat;
    return std::max(operand(part) + part * dim * factor_,
                    part * 2 * dim * factor_ + std::max(packed(sub), part * norm));
  }
  /// Gradients, their orthogonal matrices, and then the new weights; before that the forms in which
  /// Newton-Schulz holds one matrix.
  std::int64_t update(const LvsmSubLayer& sub) const {
    const std::int64_t side = std::min(sub.head_dim, config_.hidden(sub));
    const std::int64_t forms =
        4 * sub.head_dim * config_.hidden(sub) * kFloat + 3 * side * side * kFloat;
    return 2 * matrices(sub) + std::max(matrices(sub), forms);
  }

  const LvsmConfig& config_;
  std::int64_t tile_tokens_, factor_;
  bool narrow_;
};

}  // namespace

std::int64_t token_count(const LvsmConfig& config, std::int64_t views, std::int64_t width,
                         std::int64_t height) {
  return views * (width / config.patch_size) * (height / config.patch_size);
}

std::int64_t MemoryEstimate::peak() const {
  return weights + std::max(loading, inputs + state + std::max(residual + reconstruct, render));
}

MemoryEstimate estimate_memory(const LvsmConfig& config, const RunSize& size,
                               const RendererOptions& options) {
  const Estimator estimator(config, options);
  MemoryEstimate result;
  result.weights = estimator.weights();
  result.loading = estimator.loading();
  result.state = estimator.state();
  if (size.input_views > 0) {
    result.inputs = 2 * size.input_views * 3 * size.width * size.height;
    result.residual =
        token_count(config, size.input_views, size.width, size.height) * config.dim * kFloat;
    result.reconstruct =
        estimator.reconstruct(size.input_views, token_count(config, 1, size.width, size.height));
  }
  if (size.target_views > 0)
    result.render = estimator.render(size.target_views,
                                     token_count(config, 1, size.target_width, size.target_height));
  return result;
}

}  // namespace ttt::nvs
