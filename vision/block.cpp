// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/block.h"

#include "kernels/linear/feed_forward.h"
#include "layers/feed_forward.h"
#include "layers/initialize.h"
#include "vision/drop_path.h"
#include "vision/token_ops.h"

#include <torch/torch.h>

namespace ttt::vision {
namespace {

constexpr auto kGelu = ops::LinearActivation::gelu;

}  // namespace

Mlp::Mlp(std::int64_t dim, std::int64_t hidden, bool depthwise) {
  fc1_ = register_module("fc1", std::make_shared<layers::Linear>(dim, hidden));
  // act: GELU, exact form; with dwc applied before and after it
  if (depthwise) dwc_ = register_module("dwc", std::make_shared<layers::DepthwiseConv>(hidden));
  fc2_ = register_module("fc2", std::make_shared<layers::Linear>(hidden, dim));
}

at::Tensor Mlp::forward(const MixerInput& input, Grid grid, const ForwardContext& context) const {
  if (input.add_input && add_in_parts(input, grid, context.backend)) return input.x;
  if (!dwc_ && at::GradMode::is_enabled())
    return ops::feed_forward(input.norm != nullptr ? input.norm->forward(input.x) : input.x,
                             {fc1_->weight, fc1_->bias, fc2_->weight, fc2_->bias, kGelu},
                             input.residual(), context.backend);
  at::Tensor hidden = fc1_->forward(input.x, {.activation = kGelu, .norm = input.fused_norm()},
                                    context.backend);               // [B,N,4C]
  if (dwc_) hidden = depthwise_gelu(hidden, *dwc_, grid, context);  // [B,N,4C]
  if (input.add_input && fc2_->computes_into(input.x)) {
    fc2_->forward_into(input.x, hidden, {.residual = input.x}, context.backend);
    return input.x;
  }
  return fc2_->forward(hidden, {.residual = input.residual()}, context.backend);  // [B,N,C]
}

bool Mlp::add_in_parts(const MixerInput& input, Grid grid, ops::Backend backend) const {
  if (input.norm == nullptr) return false;
  if (!dwc_) return layers::add_feed_forward(input.x, *input.norm, *fc1_, kGelu, *fc2_, backend);
  return layers::add_depthwise_feed_forward(as_grid(input.x, grid),
                                            {*input.norm, *fc1_, *dwc_, *fc2_}, backend);
}

void Mlp::initialize(at::Generator generator) {
  layers::fill_linear_default(*fc1_, generator);
  if (dwc_) layers::fill_convolution_default(*dwc_, generator);
  layers::fill_linear_default(*fc2_, generator);
}

Block::Block(const BlockOptions& options) : index_(options.index) {
  const std::int64_t dim = options.dim;
  const auto norm = [&] {
    return std::make_shared<layers::LayerNorm>(dim, options.layer_norm_epsilon);
  };
  cpe_ = register_module("cpe", std::make_shared<layers::DepthwiseConv>(dim));
  norm1_ = register_module("norm1", norm());
  // rope (H-ViT3): its table is computed for the size at hand, the stored one is never needed
  attn_ = register_module("attn", make_token_mixer(dim, options.heads, options.inner));
  norm2_ = register_module("norm2", norm());
  mlp_ = register_module(
      "mlp", std::make_shared<Mlp>(dim, dim * options.mlp_ratio, options.depthwise_mlp));
}

at::Tensor Block::forward(const at::Tensor& input, Grid grid, const ops::RopeTable* rope,
                          const ForwardContext& context, const std::string& name) const {
  at::Tensor x = position_encoding(input, *cpe_, grid, context, name + ".cpe");  // [B,N,C]
  // The last projections add the residual stream, unless a branch is wanted by itself.
  if (!context.trace && !context.branch_factors.defined()) {
    x = attn_->forward({x, norm1_.get(), true}, grid, rope, context, name + ".attn");  // [B,N,C]
    return mlp_->forward({x, norm2_.get(), true}, grid, context);                      // [B,N,C]
  }
  if (context.trace) context.emit(name + ".norm1", norm1_->forward(x));
  const at::Tensor attn =
      attn_->forward({x, norm1_.get()}, grid, rope, context, name + ".attn");  // [B,N,C]
  x = x + apply_branch_factor(attn, context, index_, Branch::attention);
  const at::Tensor mlp = mlp_->forward({x, norm2_.get()}, grid, context);  // [B,N,C]
  context.emit(name + ".mlp", mlp);
  x = x + apply_branch_factor(mlp, context, index_, Branch::mlp);
  context.emit(name, x);
  return x;
}

void Block::initialize(at::Generator generator) {
  layers::fill_convolution_default(*cpe_, generator);
  layers::fill_norm_default(*norm1_);
  attn_->initialize(generator);
  layers::fill_norm_default(*norm2_);
  mlp_->initialize(generator);
}

}  // namespace ttt::vision
