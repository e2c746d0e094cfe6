// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::vision {

/// The inner model F_W of a TTT block, one per head (d channels in and out). The design space is
/// that of the ViT3 paper (arXiv 2512.01643); ∘ is the elementwise product.
enum class InnerModelKind {
  vit3,         ///< gated_linear, and depthwise on one more head of d channels: the published block
  linear,       ///< x W1
  silu_linear,  ///< silu(x W1): two layers, the output layer fixed to the identity
  mlp2,         ///< silu(x W1) W_out, hidden width·d
  mlp3,         ///< silu(silu(x W1) W2) W_out, hidden width·d
  swiglu,       ///< ((x W1) ∘ silu(x W2)) W_out, hidden width·d
  gated_linear,  ///< (x W1) ∘ silu(x W2)
  conv,          ///< 3×3 convolution d → d on the token grid, zero padding 1
  depthwise,     ///< 3×3 depthwise convolution on the token grid, zero padding 1
};

/// Loss of a prediction v̂ for a value v, with r = v̂ − v: a sum over the channels of the head, times
/// 1/3; the inner step takes its mean over tokens. Scaled so that mse and smooth_l1 have the
/// gradient of dot where v̂ is small against v.
enum class InnerLoss {
  dot,        ///< −⟨v̂, v⟩
  mse,        ///< ½ Σ r²
  rmse,       ///< √(Σ r²)
  mae,        ///< Σ |r|
  smooth_l1,  ///< Σ of ½ r² where |r| < 1, else |r| − ½
};

enum class InnerRateRule {
  fixed,    ///< the same for every token
  dynamic,  ///< every token's part of the gradient is weighted by sigmoid(linear(x)), per head
};

enum class InnerClip {
  column,  ///< g / (‖g‖₂ + 1) per output column, as published
  none,
};

/// One point of the design space: what is trained inside a TTT block, and how. The defaults are the
/// published block.
struct InnerConfig {
  InnerModelKind model = InnerModelKind::vit3;
  std::int64_t width = 1;  ///< of the hidden layer, in units of d
  InnerLoss loss = InnerLoss::dot;
  std::int64_t batches = 1;  ///< mini-batches an epoch takes, in raster order; 1: full batch
  std::int64_t epochs = 1;
  double learning_rate = 1.0;  ///< factor of the (clipped) gradient
  InnerRateRule rate_rule = InnerRateRule::fixed;
  InnerClip clip = InnerClip::column;

  bool operator==(const InnerConfig&) const = default;
  bool is_published() const { return *this == InnerConfig{}; }
  /// Gradient steps that one forward pass takes (fewer on grids with fewer tokens than batches).
  std::int64_t steps() const { return batches * epochs; }
};

constexpr std::int64_t kLargestInnerWidth = 16;
constexpr std::int64_t kLargestInnerBatches = 1024;
constexpr std::int64_t kLargestInnerEpochs = 16;
constexpr double kLargestInnerRate = 1000;

/// Names as configurations and weight files spell them, in the order of the enumeration.
const std::vector<std::string>& inner_model_names();
const std::vector<std::string>& inner_loss_names();
const std::vector<std::string>& inner_rate_rule_names();
const std::vector<std::string>& inner_clip_names();
std::string_view name_of(InnerModelKind model);
std::string_view name_of(InnerLoss loss);

/// The texts and numbers that select a point, as a configuration or a weight file gives them.
struct InnerSettings {
  std::string model = "vit3";
  std::int64_t width = 1;
  std::string loss = "dot";
  std::string batch = "full";  ///< "full", or "N/k" for k mini-batches
  std::int64_t epochs = 1;
  double lr = 1.0;
  std::string lr_rule = "fixed";
  std::string clip = "column";
};

/// Throws Error(usage) that names the setting ("inner.loss"), with the nearest name for one that is
/// unknown, and for a width that the model can't have.
InnerConfig parse_inner(const InnerSettings& settings);
InnerSettings settings_of(const InnerConfig& config);
/// "gated_linear, loss mse, batch N/2": what differs from the defaults, the model always.
std::string describe(const InnerConfig& config);

/// The metadata "ttt.inner" of our weight files: a JSON object of InnerSettings and "heads", a list
/// with one number a stage. Reading throws Error(weights) for text that isn't complete and sound:
/// a setting that was not understood would give wrong numbers.
struct StoredInner {
  InnerConfig config;
  std::vector<std::int64_t> heads;
};
std::string inner_metadata(const StoredInner& inner);
StoredInner read_inner_metadata(const std::string& text, const std::string& file);

constexpr const char* kInnerKey = "ttt.inner";

}  // namespace ttt::vision
