// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/backend.h"
#include "layers/holders.h"

#include <memory>

namespace ttt::layers {

struct ConvNormOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t kernel = 1;  ///< 1 (padding 0) or 3 (padding 1)
  std::int64_t stride = 1;
  bool depthwise = false;  ///< groups = in = out; kernel 3, no norm
  bool bias = false;
  bool norm = true;  ///< BatchNorm after the convolution
  bool relu = false;
};

/// Convolution, then optional batch norm and ReLU; keys conv.weight [out, in/groups, k, k],
/// conv.bias, norm.*. Works on channels-last maps: [B,C,H,W] with C innermost in memory.
class ConvNorm : public torch::nn::Module, public Packable {
 public:
  explicit ConvNorm(const ConvNormOptions& options);
  /// x [B,in,H,W] -> [B,out,⌈H/stride⌉,⌈W/stride⌉], both channels-last.
  at::Tensor forward(const at::Tensor& x, ops::Backend backend = ops::Backend::automatic) const;
  /// Merges the evaluation-mode batch norm into the convolution (computed in fp64). For inference
  /// only: the norm's parameters are dropped.
  void fold_norm();
  /// Lays out the weights of a 1×1 or depthwise convolution.
  void pack() override;
  void initialize(at::Generator generator);

 private:
  class Conv : public torch::nn::Module {
   public:
    explicit Conv(const ConvNormOptions& options);
    at::Tensor weight, bias;
  };

  bool is_linear() const { return options_.kernel == 1 && options_.stride == 1; }
  /// A 1×1 convolution, with the ReLU where no norm comes before it.
  at::Tensor linear(const at::Tensor& x, ops::Backend backend) const;
  at::Tensor depthwise(const at::Tensor& x, ops::Backend backend) const;

  ConvNormOptions options_;
  std::shared_ptr<Conv> conv_;
  ops::PackedLinear packed_;  // of a 1×1 convolution
  ops::PackedDepthwiseConv packed_depthwise_;
  std::shared_ptr<BatchNorm> norm_;  // null without a norm, and after folding
};

}  // namespace ttt::layers
