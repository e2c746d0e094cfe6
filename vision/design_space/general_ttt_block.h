// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/holders.h"
#include "vision/design_space/inner_part.h"
#include "vision/token_mixer.h"

namespace ttt::vision {

/// The TTT block for every point of the design space. Keys: the inner model's (see InnerModel),
/// qkv.* [3C, C], proj.* [C, C]; vit3 has w1, w2, w3, qkv.* [3C+3d, C], proj.* [C, C+d] as the
/// published block, which this one equals at the default configuration. With dynamic rates
/// lr.weight [heads, C] and lr.bias [heads], one row more for vit3's convolution.
class GeneralTttBlock : public TokenMixer {
 public:
  GeneralTttBlock(std::int64_t dim, std::int64_t heads, const InnerConfig& config);
  at::Tensor forward(const MixerInput& input, Grid grid, const ops::RopeTable* rope,
                     const ForwardContext& context, const std::string& name) const override;
  void initialize(at::Generator generator) override;

 private:
  InnerConfig config_;
  std::vector<InnerPart> parts_;
  std::vector<at::Tensor> inner_parameters_;
  std::shared_ptr<layers::Linear> qkv_, proj_, lr_;  // lr_: null for fixed rates
};

}  // namespace ttt::vision
