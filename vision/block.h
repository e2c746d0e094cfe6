// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/holders.h"
#include "vision/token_mixer.h"

#include <memory>
#include <string>

namespace ttt::vision {

struct BlockOptions {
  std::int64_t index = 0;  ///< of all blocks of the model, for stochastic depth
  std::int64_t dim = 0;
  std::int64_t heads = 0;
  std::int64_t mlp_ratio = 4;
  double layer_norm_epsilon = 1e-6;
  InnerConfig inner = {};
  bool depthwise_mlp = false;  ///< H-ViT3's MLP: a depthwise convolution and a second GELU inside
};

/// fc1, GELU, [x + depthwise convolution, GELU,] fc2. Keys fc1.*, dwc.* (depthwise only), fc2.*.
class Mlp : public torch::nn::Module {
 public:
  Mlp(std::int64_t dim, std::int64_t hidden, bool depthwise);
  /// Tokens on the grid -> [B,N,C].
  at::Tensor forward(const MixerInput& input, Grid grid, const ForwardContext& context) const;
  void initialize(at::Generator generator);

 private:
  /// Adds the result to input.x without a hidden map of all tokens; false where that can't be.
  bool add_in_parts(const MixerInput& input, Grid grid, ops::Backend backend) const;

  std::shared_ptr<layers::Linear> fc1_, fc2_;
  std::shared_ptr<layers::DepthwiseConv> dwc_;  // null without the depthwise convolution
};

/// Position encoding, TTT block and MLP on the residual stream; the block of ViT3 and H-ViT3.
/// Keys cpe.*, norm1.*, attn.*, norm2.*, mlp.*.
class Block : public torch::nn::Module {
 public:
  explicit Block(const BlockOptions& options);
  /// x [B,N,C] on the grid -> [B,N,C]; `rope` as in TokenMixer::forward.
  at::Tensor forward(const at::Tensor& input, Grid grid, const ops::RopeTable* rope,
                     const ForwardContext& context, const std::string& name) const;
  void initialize(at::Generator generator);

 private:
  std::int64_t index_;
  std::shared_ptr<layers::DepthwiseConv> cpe_;
  std::shared_ptr<layers::LayerNorm> norm1_, norm2_;
  std::shared_ptr<TokenMixer> attn_;
  std::shared_ptr<Mlp> mlp_;
};

}  // namespace ttt::vision
