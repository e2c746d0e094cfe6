// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/rope_2d/rope_2d.h"
#include "vision/design_space/config.h"
#include "vision/forward_context.h"

#include <ATen/core/Generator.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>

namespace ttt::vision {

/// The part of a block that mixes tokens.
class TokenMixer : public torch::nn::Module {
 public:
  /// x [B,N,C] on the grid -> [B,N,C]. `rope` rotates the queries and keys (not those of vit3's
  /// convolution); null for none. `name` is the module's path, for traces and reports. `residual`
  /// [B,N,C] is added to the result if it is defined.
  virtual at::Tensor forward(const at::Tensor& x, Grid grid, const ops::RopeTable* rope,
                             const ForwardContext& context, const std::string& name,
                             const at::Tensor& residual) const = 0;
  virtual void initialize(at::Generator generator) = 0;
};

/// The published block (TttBlock), or the general one for every other point of the design space.
std::shared_ptr<TokenMixer> make_token_mixer(std::int64_t dim, std::int64_t heads,
                                             const InnerConfig& inner);

}  // namespace ttt::vision
