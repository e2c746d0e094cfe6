// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/ttt_block.h"

#include "kernels/ttt_depthwise/ttt_depthwise.h"
#include "kernels/ttt_gated_linear/ttt_gated_linear.h"
#include "layers/initialize.h"
#include "vision/inner_report.h"

#include <torch/torch.h>

namespace ttt::vision {
namespace {

constexpr double kInnerWeightStd = 0.02;

bool records_gradients(const at::Tensor& tensor) {
  return at::GradMode::is_enabled() && tensor.requires_grad();
}

/// The trained w3 [d,1,3,3] as kernels of `batch` samples, [B,3,3,d].
at::Tensor initial_kernels(const at::Tensor& w3, std::int64_t batch) {
  const at::Tensor kernels = w3.squeeze(1).permute({1, 2, 0}).to(
      w3.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  return kernels.unsqueeze(0).expand({batch, -1, -1, -1}).contiguous();
}

/// The trained weights in the type in which stepped ones are kept.
ops::InnerWeights initial_weights(const at::Tensor& w1, const at::Tensor& w2) {
  const auto dtype = w1.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return {w1.to(dtype), w2.to(dtype)};
}

}  // namespace

/// Views into one qkv projection: q1, k1, v1 [B,N,C], q2, k2, v2 [B,h,w,d].
struct TttBlock::Projections {
  at::Tensor q1, k1, v1, q2, k2, v2;
};

TttBlock::TttBlock(std::int64_t dim, std::int64_t heads)
    : dim_(dim), heads_(heads), head_dim_(dim / heads) {
  w1_ = register_parameter("w1", torch::empty({1, heads, head_dim_, head_dim_}));
  w2_ = register_parameter("w2", torch::empty({1, heads, head_dim_, head_dim_}));
  w3_ = register_parameter("w3", torch::empty({head_dim_, 1, 3, 3}));
  qkv_ = register_module("qkv", std::make_shared<layers::Linear>(dim, 3 * dim + 3 * head_dim_));
  proj_ = register_module("proj", std::make_shared<layers::Linear>(dim + head_dim_, dim));
}

TttBlock::Projections TttBlock::split(const at::Tensor& qkv, Grid grid) const {
  // One operation: its backward pass joins the gradients of the parts once, where every narrow()
  // would add a whole projection of zeros and its part.
  const std::vector<at::Tensor> parts =
      qkv.split_with_sizes({dim_, dim_, dim_, head_dim_, head_dim_, head_dim_}, 2);
  const auto map = [&](std::size_t part) {
    return parts[part].unflatten(1, {grid.height, grid.width});
  };
  return {parts[0], parts[1], parts[2], map(3), map(4), map(5)};
}

at::Tensor TttBlock::forward(const MixerInput& input, Grid grid, const ops::RopeTable* rope,
                             const ForwardContext& context, const std::string& name) const {
  const at::Tensor qkv =
      qkv_->forward(input.x, {.norm = input.fused_norm()}, context.backend);  // [B,N,3C+3d]
  context.emit(name + ".qkv", qkv);
  Projections p = split(qkv, grid);
  // The ops rotate while they read, unless someone else wants to see the rotated values.
  if (rope != nullptr && (context.trace || context.reports != nullptr)) {
    rotate(p, *rope, context, name);
    rope = nullptr;
  }

  const SteppedModels stepped = step(p, rope, context);
  const auto& [weights, kernels] = stepped;
  if (context.reports != nullptr)
    context.reports->push_back(
        report_inner_step(name, {p.k1, p.v1, initial_weights(w1_, w2_), weights},
                          {p.k2, p.v2, initial_kernels(w3_, qkv.size(0)), kernels}, context));
  context.emit(name + ".W1", weights.w1);
  context.emit(name + ".W2", weights.w2);
  if (context.trace) context.emit(name + ".W3", ops::depthwise_conv_weight(kernels));

  const at::Tensor mixed = apply(p, rope, qkv, stepped, context);  // [B,N,C+d]
  context.emit(name + ".x1x2", mixed);
  if (input.add_input && proj_->computes_into(input.x)) {
    proj_->forward_into(input.x, mixed, {.residual = input.x}, context.backend);
    return input.x;
  }
  const at::Tensor out =
      proj_->forward(mixed, {.residual = input.residual()}, context.backend);  // [B,N,C]
  context.emit(name + ".out", out);
  return out;
}

TttBlock::SteppedModels TttBlock::step(const Projections& p, const ops::RopeTable* rope,
                                       const ForwardContext& context) const {
  if (!context.inner_update) return {initial_weights(w1_, w2_), initial_kernels(w3_, p.k1.size(0))};
  return {ops::gated_linear_step(p.k1, p.v1, w1_, w2_, context.backend, rope),
          ops::depthwise_step(p.k2, p.v2, w3_, context.backend)};
}

void TttBlock::rotate(Projections& p, const ops::RopeTable& rope, const ForwardContext& context,
                      const std::string& name) const {
  p.q1 = ops::rope_2d(p.q1, rope, context.backend);
  p.k1 = ops::rope_2d(p.k1, rope, context.backend);
  if (!context.trace) return;
  const auto grid_view = [&](const at::Tensor& tokens) {
    return tokens.unflatten(1, {rope.height(), rope.width()});
  };
  context.emit(name + ".rope_q", grid_view(p.q1));
  context.emit(name + ".rope_k", grid_view(p.k1));
}

at::Tensor TttBlock::apply(const Projections& p, const ops::RopeTable* rope, const at::Tensor& qkv,
                           const SteppedModels& stepped, const ForwardContext& context) const {
  const auto& [weights, kernels] = stepped;
  if (records_gradients(p.q1)) {
    const at::Tensor x1 = ops::gated_linear_apply(p.q1, weights, context.backend, rope);
    const at::Tensor x2 = ops::depthwise_apply(p.q2, kernels, context.backend);
    return at::cat({x1, x2.flatten(1, 2)}, 2);
  }
  // The first answers replace their queries, the second ones keys that nobody reads any more: the
  // operand of the last projection needs no memory of its own. A trace keeps what it has seen.
  const bool in_place = qkv.is_cpu() && context.backend != ops::Backend::cuda && !context.trace;
  const std::int64_t width = dim_ + head_dim_;
  const at::Tensor mixed =
      in_place ? qkv.narrow(2, 0, width)
               : at::empty({qkv.size(0), qkv.size(1), width}, qkv.options());  // [B,N,C+d]
  ops::gated_linear_apply_out(p.q1, weights, mixed.narrow(2, 0, dim_), context.backend, rope);
  const at::Tensor x2 = mixed.narrow(2, dim_, head_dim_);
  ops::depthwise_apply_out(p.q2, kernels, x2.unflatten(1, {p.q2.size(1), p.q2.size(2)}),
                           context.backend);
  return mixed;
}

void TttBlock::initialize(at::Generator generator) {
  for (const at::Tensor& weight : {w1_, w2_, w3_})
    layers::fill_truncated_normal(weight, kInnerWeightStd, generator);
  layers::fill_linear_default(*qkv_, generator);
  layers::fill_linear_default(*proj_, generator);
}

}  // namespace ttt::vision
