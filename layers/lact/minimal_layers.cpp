// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/lact/minimal_layers.h"

#include "core/error.h"
#include "kernels/linear/linear.h"
#include "layers/window_attention.h"

#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

#include <cmath>

namespace ttt::layers {
namespace {

constexpr double kOutputNormEpsilon = 1e-5;

/// The framework's default of a linear layer: uniform in +-1/sqrt(fan in).
void fill_uniform(const at::Tensor& tensor, std::int64_t fan_in, const at::Generator& generator) {
  const double limit = 1 / std::sqrt(static_cast<double>(fan_in));
  tensor.uniform_(-limit, limit, generator);
}

}  // namespace

MinimalLact::Projection::Projection(std::int64_t in, std::int64_t out, bool with_bias) {
  weight = register_parameter("weight", torch::empty({out, in}));
  if (with_bias) bias = register_parameter("bias", torch::empty({out}));
}

at::Tensor MinimalLact::Projection::forward(const at::Tensor& x) const {
  return ops::linear(x, weight, bias);
}

MinimalLact::Norm::Norm(std::int64_t width) {
  weight = register_parameter("weight", torch::empty({width}));
}

MinimalLact::MinimalLact(const MinimalLactOptions& options) : options_(options) {
  TTT_CHECK(options.dim > 0 && options.head_dim > 0 && options.dim % options.head_dim == 0, usage,
            fmt::format("dim {} is no multiple of head_dim {}", options.dim, options.head_dim),
            "LaCT layer", "use a head width that divides dim");
  heads_ = options.dim / options.head_dim;
  hidden_ = static_cast<std::int64_t>(static_cast<double>(options.head_dim) * options.inter_multi);
  TTT_CHECK(hidden_ > 0, usage,
            fmt::format("inter_multi {} leaves no hidden unit", options.inter_multi), "LaCT layer",
            "use a larger inter_multi");
  w0_ = register_parameter("w0", torch::empty({heads_, hidden_, options.head_dim}));
  w1_ = register_parameter("w1", torch::empty({heads_, options.head_dim, hidden_}));
  w2_ = register_parameter("w2", torch::empty({heads_, hidden_, options.head_dim}));
}

std::shared_ptr<MinimalLact::Projection> MinimalLact::projection(const std::string& name,
                                                                 std::int64_t in, std::int64_t out,
                                                                 bool bias) {
  return register_module(name, std::make_shared<Projection>(in, out, bias));
}

void MinimalLact::register_norm() {
  if (options_.use_o_norm)
    o_norm_ = register_module("o_norm", std::make_shared<Norm>(options_.head_dim));
}

FastWeights MinimalLact::start() const {
  return {transposed({w0_.unsqueeze(0), w1_.unsqueeze(0), w2_.unsqueeze(0)}), {}, {}};
}

LactOptions MinimalLact::lact_options() const {
  LactOptions options;
  options.orthogonalise = options_.use_muon;
  options.steps = ops::newton_schulz_five();
  options.bf16_newton_schulz = options_.bf16_newton_schulz;
  options.detach_norms = false;
  return options;
}

at::Tensor MinimalLact::rates(const at::Tensor& x) const {
  const at::Tensor raw = lr_proj_->forward(x).unflatten(2, {heads_, 3});
  return lact_learning_rates(raw, options_.base_lr).transpose(2, 3);
}

at::Tensor MinimalLact::normed(const at::Tensor& ttt) const {
  if (!o_norm_) return ttt;
  return at::rms_norm(ttt.unflatten(2, {heads_, options_.head_dim}), {options_.head_dim},
                      o_norm_->weight, kOutputNormEpsilon)
      .flatten(2, 3);
}

void MinimalLact::initialize(at::Generator generator) {
  const torch::NoGradGuard no_grad;
  const double wide = 1 / std::sqrt(static_cast<double>(options_.head_dim));
  const double high = 1 / std::sqrt(static_cast<double>(hidden_));
  w0_.normal_(0, wide, generator);
  w1_.normal_(0, high, generator);
  w2_.normal_(0, wide, generator);
  for (const auto& linear : {to_qkv_, o_proj_, lr_proj_})
    fill_uniform(linear->weight, options_.dim, generator);
  if (o_norm_) o_norm_->weight.fill_(1);
}

BidirectionalLact::BidirectionalLact(const MinimalLactOptions& options) : MinimalLact(options) {
  to_qkv_ = projection("to_qkv", options.dim, 3 * options.dim);
  o_proj_ = projection("o_proj", options.dim, options.dim);
  lr_proj_ = projection("lr_proj", options.dim, 3 * heads_);
  register_norm();
}

MinimalLactResult BidirectionalLact::forward(const at::Tensor& x) const {
  const std::vector<at::Tensor> qkv = at::silu(to_qkv_->forward(x)).chunk(3, 2);  // [B, N, dim]
  const auto prepared = [&](const at::Tensor& t) {
    return options_.qk_l2_norm ? lact_normalise(t, heads_) : t;
  };
  LactOptions options = lact_options();
  options.published_defect = options_.reference_compat;
  LactResult run = run_lact(start(), {prepared(qkv[0]), prepared(qkv[1]), qkv[2], rates(x), {}},
                            bidirectional_schedule(x.size(1)), options);
  const at::Tensor y = o_proj_->forward(normed(run.output));
  return {y, run.output, {}, std::move(run.state)};
}

CausalLact::Sequential::Sequential(const std::shared_ptr<Projection>& first) {
  register_module("0", first);
}

CausalLact::CausalLact(const MinimalLactOptions& options) : MinimalLact(options) {
  TTT_CHECK(
      options.attn_head_dim > 0 && options.dim % options.attn_head_dim == 0, usage,
      fmt::format("dim {} is no multiple of attn_head_dim {}", options.dim, options.attn_head_dim),
      "LaCT layer", "use an attention head width that divides dim");
  qk_scale_ = register_parameter("qk_scale", torch::empty({options.dim, 2}));
  qk_offset_ = register_parameter("qk_offset", torch::empty({options.dim, 2}));
  to_qkv_ = projection("to_qkv", options.dim, 3 * options.dim);
  o_proj_ = projection("o_proj", options.dim, options.dim);
  lr_proj_ = projection("lr_proj", options.dim, 3 * heads_);
  if (options.use_momentum) {
    momentum_proj_ = std::make_shared<Projection>(options.dim, heads_, true);
    register_module("momentum_proj", std::make_shared<Sequential>(momentum_proj_));
  }
  register_norm();
  ttt_scale_proj_ = projection("ttt_scale_proj", options.dim, heads_, true);
}

at::Tensor CausalLact::attention(const at::Tensor& qkv) const {
  const std::vector<at::Tensor> parts = qkv.chunk(3, 2);  // [B, N, dim] each
  const at::Tensor q = parts[0] * qk_scale_.select(1, 0) + qk_offset_.select(1, 0);
  const at::Tensor k = parts[1] * qk_scale_.select(1, 1) + qk_offset_.select(1, 1);
  return causal_attention(q, k, parts[2], options_.dim / options_.attn_head_dim,
                          options_.window_size);
}

MinimalLactResult CausalLact::forward(const at::Tensor& x) const {
  const at::Tensor raw = to_qkv_->forward(x);  // [B, N, 3*dim]
  const std::vector<at::Tensor> qkv = at::silu(raw).chunk(3, 2);
  at::Tensor momentum;
  if (momentum_proj_) momentum = momentum_proj_->forward(x).sigmoid();  // [B, N, heads]
  LactResult run = run_lact(
      start(),
      {lact_normalise(qkv[0], heads_), lact_normalise(qkv[1], heads_), qkv[2], rates(x), momentum},
      shifted_schedule(x.size(1), options_.lact_chunk_size), lact_options());
  const at::Tensor scale = at::silu(ttt_scale_proj_->forward(x)).unsqueeze(-1);  // [B, N, heads, 1]
  const at::Tensor gated =
      (normed(run.output).unflatten(2, {heads_, options_.head_dim}) * scale).flatten(2, 3);
  const at::Tensor attended = attention(raw);
  const at::Tensor y = o_proj_->forward(attended + gated);
  return {y, run.output, attended, std::move(run.state)};
}

void CausalLact::initialize(at::Generator generator) {
  MinimalLact::initialize(generator);
  const torch::NoGradGuard no_grad;
  qk_scale_.fill_(1);
  qk_offset_.zero_();
  for (const auto& linear : {momentum_proj_, ttt_scale_proj_}) {
    if (!linear) continue;
    fill_uniform(linear->weight, options_.dim, generator);
    fill_uniform(linear->bias, options_.dim, generator);
  }
}

}  // namespace ttt::layers
