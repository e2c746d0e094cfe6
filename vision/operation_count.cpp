// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/operation_count.h"

namespace ttt::vision {
namespace {

constexpr double kTaps = 9;  ///< of every 3x3 convolution

/// Multiply-adds of a block: qkv and projection, six products [N,d]x[d,d] a head, the depthwise
/// inner model's step and use, position convolution, MLP.
double block_products(double tokens, double dim, double head_dim, double mlp_ratio) {
  const double mixer = 4 * dim * dim + 10 * dim * head_dim + 2 * kTaps * head_dim;
  return tokens * (mixer + kTaps * dim + 2 * mlp_ratio * dim * dim);
}

double products(const Vit3Config& c, double pixels) {
  const auto dim = static_cast<double>(c.dim), patch = static_cast<double>(c.patch);
  const double tokens = pixels / (patch * patch);
  return static_cast<double>(c.depth) * block_products(tokens, dim,
                                                       dim / static_cast<double>(c.heads),
                                                       static_cast<double>(c.mlp_ratio)) +
         3 * pixels * dim + dim * static_cast<double>(c.classes);
}

/// The stem halves the picture twice: 3 -> e/2 (three convolutions), e/2 -> 4e, 4e -> e.
double stem_products(double pixels, double e) {
  return pixels / 4 * kTaps * (3 + e) * e / 2 + pixels / 16 * (kTaps * 2 + 4) * e * e;
}

double products(const HVit3Config& c, double pixels) {
  double sum = stem_products(pixels, static_cast<double>(c.dims[0])) +
               static_cast<double>(c.dims.back() * c.classes);
  double tokens = pixels / 16;
  for (std::size_t i = 0; i < kStages; ++i, tokens /= 4) {
    const auto dim = static_cast<double>(c.dims[i]), ratio = static_cast<double>(c.mlp_ratio);
    sum += static_cast<double>(c.depths[i]) *
           (block_products(tokens, dim, dim / static_cast<double>(c.heads[i]), ratio) +
            tokens * kTaps * ratio * dim);
    if (i + 1 == kStages) break;
    // Merging: 1x1 to four times the next width, depthwise with stride two, 1x1.
    const auto next = static_cast<double>(c.dims[i + 1]);
    sum += tokens * dim * 4 * next + tokens / 4 * (kTaps * 4 * next + 4 * next * next);
  }
  return sum;
}

}  // namespace

std::optional<double> count_operations(const ModelSpec& spec, std::int64_t width,
                                       std::int64_t height) {
  if (!spec.inner().is_published()) return std::nullopt;
  const double pixels = static_cast<double>(width) * static_cast<double>(height);
  return std::visit([&](const auto& config) { return 2 * products(config, pixels); }, spec.config);
}

}  // namespace ttt::vision
