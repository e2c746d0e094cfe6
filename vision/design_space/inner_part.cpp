// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/design_space/inner_part.h"

#include "kernels/ttt_depthwise/ttt_depthwise.h"
#include "kernels/ttt_gated_linear/ttt_gated_linear.h"
#include "training/autocast.h"
#include "vision/design_space/inner_loss.h"

#include <torch/torch.h>

#include <cmath>

namespace ttt::vision {
namespace {

/// Inner weights are a small state: float even where activations are narrower.
at::ScalarType state_dtype(const at::Tensor& parameter) {
  return parameter.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// [B,heads,9,d] as the kernels [B,3,3,heads·d] of the op, and back.
at::Tensor as_kernels(const at::Tensor& weights, std::int64_t batch) {
  return weights.expand({batch, -1, -1, -1})
      .transpose(1, 2)
      .flatten(2)
      .unflatten(1, {3, 3})
      .contiguous();
}
at::Tensor as_weights(const at::Tensor& kernels, std::int64_t heads, std::int64_t head_dim) {
  return kernels.flatten(1, 2).unflatten(2, {heads, head_dim}).transpose(1, 2);
}

double norm_of(const InnerModelWeights& weights) {
  double sum = 0;
  for (const at::Tensor& w : weights) sum += w.to(at::kDouble).square().sum().item<double>();
  return std::sqrt(sum);
}

/// RMS over output columns.
double column_norm(const InnerModelWeights& gradients) {
  double sum = 0, columns = 0;
  for (const at::Tensor& g : gradients) {
    sum += g.to(at::kDouble).square().sum().item<double>();
    columns += static_cast<double>(g.numel() / g.size(-2));
  }
  return columns > 0 ? std::sqrt(sum / columns) : 0;
}

}  // namespace

InnerPart::InnerPart(InnerModelKind kind, std::int64_t heads, std::int64_t head_dim,
                     const InnerConfig& config)
    : kind_(kind),
      heads_(heads),
      head_dim_(head_dim),
      config_(config),
      model_(make_inner_model(kind, heads, head_dim, config.width)) {}

at::Tensor InnerPart::forward(const InnerTokens& tokens, const Pass& pass) const {
  const bool fast = pass.context.inner_gradients == InnerGradients::automatic && !pass.report;
  const InnerModelWeights weights = fast && pass.context.inner_update && fast_step_fits()
                                        ? fast_step(tokens, pass)
                                        : step(tokens, pass);
  const bool has_op = kind_ == InnerModelKind::gated_linear || kind_ == InnerModelKind::depthwise;
  return fast && has_op ? fast_apply(tokens.q, weights, pass) : apply(tokens.q, weights, pass);
}

InnerModelWeights InnerPart::initial_weights() const {
  InnerModelWeights weights = model_->weights(stored_);
  for (at::Tensor& w : weights) w = w.to(state_dtype(stored_[0]));
  return weights;
}

/// The ops know the published step. The depthwise one starts from kernels that all samples share
/// and takes the whole grid.
bool InnerPart::fast_step_fits() const {
  if (config_.loss != InnerLoss::dot || config_.rate_rule != InnerRateRule::fixed ||
      config_.clip != InnerClip::column)
    return false;
  return kind_ == InnerModelKind::gated_linear ||
         (kind_ == InnerModelKind::depthwise && config_.steps() == 1);
}

InnerModelWeights InnerPart::fast_step(const InnerTokens& tokens, const Pass& pass) const {
  const ops::Backend backend = pass.context.backend;
  const InnerModelWeights initial = initial_weights();
  const auto scaled = [&](const at::Tensor& before, const at::Tensor& after) {
    return config_.learning_rate == 1 ? after : before + config_.learning_rate * (after - before);
  };
  if (kind_ == InnerModelKind::depthwise) {
    const auto map = [&](const at::Tensor& t) {
      return t.unflatten(1, {pass.grid.height, pass.grid.width});
    };
    const at::Tensor kernels =
        ops::depthwise_step(map(tokens.k), map(tokens.v), stored_[0], backend);  // [B,3,3,h·d]
    return {scaled(initial[0], as_weights(kernels, heads_, head_dim_))};
  }
  ops::InnerWeights weights{initial[0], initial[1]};
  for (std::int64_t step = 0; step < config_.steps(); ++step) {
    const TokenRange range = mini_batch(tokens.k.size(1), config_.batches, step % config_.batches);
    if (range.size == 0) continue;
    const ops::InnerWeights after = ops::gated_linear_step(
        tokens.k.narrow(1, range.begin, range.size), tokens.v.narrow(1, range.begin, range.size),
        weights.w1, weights.w2, backend);
    weights = {scaled(weights.w1, after.w1), scaled(weights.w2, after.w2)};
  }
  return {weights.w1, weights.w2};
}

at::Tensor InnerPart::split_heads(const at::Tensor& tokens) const {
  return tokens.unflatten(2, {heads_, head_dim_})
      .transpose(1, 2)
      .to(state_dtype(stored_[0]))
      .contiguous();
}

InnerModelWeights InnerPart::step(const InnerTokens& tokens, const Pass& pass) const {
  if (!pass.context.inner_update && !pass.report) return initial_weights();
  const training::AutocastGuard full_width(tokens.k.device().type(), at::kFloat);
  InnerPairs pairs{model_->input(split_heads(tokens.k), pass.grid), split_heads(tokens.v), {}};
  if (tokens.token_rates.defined())
    pairs.token_rates = tokens.token_rates.transpose(1, 2).unsqueeze(3).to(pairs.v.scalar_type());
  InnerTraining training{.weights = initial_weights()};
  if (pass.context.inner_update)
    training =
        train_inner_model(*model_, pairs, training.weights, config_, pass.context.inner_gradients);
  if (pass.report) report(pairs, training, *pass.report);
  return training.weights;
}

at::Tensor InnerPart::apply(const at::Tensor& q, const InnerModelWeights& weights,
                            const Pass& pass) const {
  const training::AutocastGuard full_width(q.device().type(), at::kFloat);
  const at::Tensor x = model_->input(split_heads(q), pass.grid);
  return model_->predict(x, weights).value.transpose(1, 2).flatten(2).to(q.scalar_type());
}

at::Tensor InnerPart::fast_apply(const at::Tensor& q, const InnerModelWeights& weights,
                                 const Pass& pass) const {
  const ops::Backend backend = pass.context.backend;
  if (kind_ == InnerModelKind::gated_linear)
    return ops::gated_linear_apply(q, {weights[0], weights[1]}, backend);
  return ops::depthwise_apply(q.unflatten(1, {pass.grid.height, pass.grid.width}),
                              as_kernels(weights[0], q.size(0)), backend)
      .flatten(1, 2);
}

void InnerPart::report(const InnerPairs& pairs, const InnerTraining& training,
                       InnerStepReport& into) const {
  const at::NoGradGuard no_grad;
  const InnerModelWeights before = initial_weights();
  // Means over the batch and over heads; the channels of a depthwise convolution are models of
  // their own.
  const double width = kind_ == InnerModelKind::depthwise ? static_cast<double>(head_dim_) : 1.0;
  const auto loss = [&](const InnerModelWeights& weights) {
    const at::Tensor predicted = model_->predict(pairs.x, weights).value;
    return inner_loss(config_.loss, predicted, pairs.v).mean().to(at::kDouble).item<double>() /
           width;
  };
  InnerModelWeights difference, start;
  for (std::size_t i = 0; i < before.size(); ++i) {
    difference.push_back(before[i] - training.weights[i]);
    start.push_back(before[i].expand_as(difference.back()));
  }
  into.steps = training.steps;
  into.models.push_back({.model = std::string(name_of(kind_)),
                         .loss_before = loss(before),
                         .loss_after = loss(training.weights),
                         .gradient_norm = column_norm(training.first_gradients),
                         .update_ratio = norm_of(difference) / norm_of(start)});
}

}  // namespace ttt::vision
