// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/ttt_gated_linear/ttt_gated_linear.h"
#include "layers/holders.h"
#include "vision/token_mixer.h"

#include <memory>
#include <string>

namespace ttt::vision {

/// The TTT block of vision models, in the place of softmax attention: two inner models (a gated
/// linear map per head, a 3×3 depthwise convolution on an extra head) take one gradient step on the
/// keys and values of the image, then answer its queries. Source: LeapLabTHU/ViTTT: ttt_block.py.
/// Keys: w1, w2 [1,heads,d,d], w3 [d,1,3,3], qkv.* [3C+3d, C], proj.* [C, C+d]; d = C / heads.
class TttBlock : public TokenMixer {
 public:
  TttBlock(std::int64_t dim, std::int64_t heads);
  at::Tensor forward(const MixerInput& input, Grid grid, const ops::RopeTable* rope,
                     const ForwardContext& context, const std::string& name) const override;
  void initialize(at::Generator generator) override;

 private:
  struct Projections;
  struct SteppedModels {
    ops::InnerWeights weights;  ///< [B,heads,d,d] each
    at::Tensor kernels;         ///< [B,3,3,d]
  };
  Projections split(const at::Tensor& qkv, Grid grid) const;
  void rotate(Projections& p, const ops::RopeTable& rope, const ForwardContext& context,
              const std::string& name) const;
  /// The stepped inner weights, or the initial ones where the update is switched off.
  SteppedModels step(const Projections& p, const ops::RopeTable* rope,
                     const ForwardContext& context) const;
  /// x1|x2 [B,N,C+d]; without gradients and traces in the place of `qkv`'s queries and first keys.
  at::Tensor apply(const Projections& p, const ops::RopeTable* rope, const at::Tensor& qkv,
                   const SteppedModels& stepped, const ForwardContext& context) const;

  std::int64_t dim_, heads_, head_dim_;
  at::Tensor w1_, w2_, w3_;
  std::shared_ptr<layers::Linear> qkv_, proj_;
};

}  // namespace ttt::vision
