// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/rope_2d/rope_2d.h"
#include "layers/holders.h"
#include "vision/design_space/config.h"
#include "vision/forward_context.h"

#include <ATen/core/Generator.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>

namespace ttt::vision {

/// What a token mixer reads.
struct MixerInput {
  at::Tensor x;                             ///< [B,N,C]
  const layers::LayerNorm* norm = nullptr;  ///< of x, before everything; null: none
  /// Add x itself to the result. Without gradients the result may then be written into x.
  bool add_input = false;

  ops::LinearNorm fused_norm() const { return norm != nullptr ? norm->fused() : ops::LinearNorm{}; }
  /// What is added to the result of the last projection.
  at::Tensor residual() const { return add_input ? x : at::Tensor(); }
};

/// The part of a block that mixes tokens.
class TokenMixer : public torch::nn::Module {
 public:
  /// Tokens on the grid -> [B,N,C]. `rope` rotates the queries and keys (not those of vit3's
  /// convolution); null for none. `name` is the module's path, for traces and reports.
  virtual at::Tensor forward(const MixerInput& input, Grid grid, const ops::RopeTable* rope,
                             const ForwardContext& context, const std::string& name) const = 0;
  virtual void initialize(at::Generator generator) = 0;
};

/// The published block (TttBlock), or the general one for every other point of the design space.
std::shared_ptr<TokenMixer> make_token_mixer(std::int64_t dim, std::int64_t heads,
                                             const InnerConfig& inner);

}  // namespace ttt::vision
