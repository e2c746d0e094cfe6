// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/weight_file.h"
#include "kernels/support/backend.h"
#include "layers/lact/fast_weights.h"
#include "layers/lact/lact.h"
#include "layers/trace.h"
#include "nvs/model/config.h"
#include "nvs/model/posed_views.h"

#include <torch/nn/module.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ttt::nvs {

/// A "weight", and a "bias" where the official module has one.
class WeightHolder : public torch::nn::Module {
 public:
  explicit WeightHolder(at::IntArrayRef shape, bool with_bias = false);
  at::Tensor weight, bias;
};

/// Parameters of one sub-layer under their official names; those of other kinds are null.
class LvsmSubLayerModule : public torch::nn::Module {
 public:
  LvsmSubLayerModule(const LvsmConfig& config, const LvsmSubLayer& options);

  LvsmSubLayer options;
  std::int64_t heads = 0;
  std::shared_ptr<WeightHolder> ln;              // [dim]
  std::shared_ptr<WeightHolder> to_qkv;          // [3 dim, dim], q first, then heads
  std::shared_ptr<WeightHolder> c_proj;          // [dim, dim] or [dim, hidden]
  std::shared_ptr<WeightHolder> q_norm, k_norm;  // [head_dim]
  at::Tensor w0, w1, w2;                         // [heads, D, h], [heads, h, D], [heads, D, h]
  std::shared_ptr<WeightHolder> lr_fc;           // [3 heads, dim], channel = matrix * heads + head
  std::shared_ptr<WeightHolder> o_norm;          // [D], shared by the heads
  std::shared_ptr<WeightHolder> c_fc;            // [hidden, dim]
};

/// How a differentiable forward pass computes.
struct LvsmForwardContext {
  ops::Backend backend = ops::Backend::automatic;
  bool bf16_newton_schulz = false;
  bool inner_update = true;  ///< off: the learned fast weights are applied as they are
  bool recompute = false;    ///< keep block inputs only, run blocks twice
  layers::Trace trace;       ///< receives intermediates; may be empty

  LvsmForwardContext without_trace() const {
    LvsmForwardContext result = *this;
    result.trace = {};
    return result;
  }
};

/// LaCT-LVSM (a1600012888/LaCT: lact_nvs/model.py): input views are written into fast weights,
/// target views read them. The modules carry the names of the official checkpoints. For rendering
/// see LvsmRenderer; joint() is for training.
class LvsmModel : public torch::nn::Module {
 public:
  /// Throws Error(usage) as check_config() does. Weights are uninitialised.
  explicit LvsmModel(const LvsmConfig& config);

  const LvsmConfig& config() const { return config_; }
  /// The official initialisation (its distributions, not its random numbers).
  void initialize(std::uint64_t seed);

  /// Renders target views from input views in one differentiable pass. images [B, V, 3, H, W] in 0
  /// to 1; cameras [B, V, 4, 4] and [B, V, 4]; targets of the inputs' size -> [B, T, 3, H, W] in 0
  /// to 1. Input tokens are dropped where only targets are needed any more.
  at::Tensor joint(const at::Tensor& images, const CameraTensors& inputs,
                   const CameraTensors& targets, const LvsmForwardContext& context = {}) const;

  const LvsmSubLayerModule& sub_layer(std::int64_t block, std::size_t sub) const {
    return *blocks_[static_cast<std::size_t>(block)][sub];
  }
  const at::Tensor& input_linear() const { return input_linear_->weight; }
  const at::Tensor& input_layernorm() const { return input_layernorm_->weight; }
  const at::Tensor& decoder_norm() const { return decoder_norm_->weight; }
  const at::Tensor& decoder_linear() const { return decoder_linear_->weight; }

 private:
  /// Counts of tokens in a joint pass, and the position of a block's last fast weights.
  struct JointSizes {
    std::int64_t view = 0, inputs = 0;
    std::size_t last_fast_weights = 0;
  };
  at::Tensor embed(const at::Tensor& images, const CameraTensors& inputs,
                   const CameraTensors& targets) const;
  at::Tensor block(std::int64_t index, at::Tensor x, const JointSizes& sizes,
                   const LvsmForwardContext& context) const;

  LvsmConfig config_;
  std::shared_ptr<WeightHolder> input_linear_, input_layernorm_, decoder_norm_, decoder_linear_;
  std::vector<std::vector<std::shared_ptr<LvsmSubLayerModule>>> blocks_;
};

/// The official epsilons.
constexpr double kLayerNormEpsilon = 1e-5;
constexpr double kAttentionNormEpsilon = 1.1920928955078125e-07;
constexpr double kOutputNormEpsilon = 1e-5;

/// x / sqrt(mean(x^2) + epsilon) over the last axis, times the weight if there is one; in float (or
/// double), result in x's dtype.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

/// The fast-weight update of a sub-layer.
layers::LactOptions lact_options(const LvsmSubLayer& sub, ops::Backend backend,
                                 bool bf16_newton_schulz);

struct LvsmFile {
  std::string weights;
  std::string weights_key;
  std::string config;  ///< yaml file; empty: the file's metadata, else its shapes
  std::vector<std::string> allow_missing, allow_unexpected;
};
struct LoadedLvsm {
  std::shared_ptr<LvsmModel> model;
  WeightFile file;
  std::string config_origin;  ///< where the architecture comes from, for the log
};
/// Loads a checkpoint strictly, in float. Throws Error(weights) or Error(usage).
LoadedLvsm load_lvsm(const LvsmFile& options);
/// Metadata key of the configuration (config_to_json) in our own safetensors.
constexpr const char* kConfigMetadata = "ttt_lvsm_config";
/// Metadata keys of what our own weights were trained on: the size of the views ("64x64"), and
/// "object" or "scene".
constexpr const char* kSizeMetadata = "ttt_lvsm_size";
constexpr const char* kModeMetadata = "ttt_lvsm_mode";

}  // namespace ttt::nvs
