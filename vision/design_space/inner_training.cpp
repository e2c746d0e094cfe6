// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/design_space/inner_training.h"

#include "vision/design_space/inner_loss.h"

#include <torch/torch.h>

namespace ttt::vision {
namespace {

InnerPairs slice(const InnerPairs& pairs, TokenRange range) {
  const auto cut = [&](const at::Tensor& t) { return t.narrow(2, range.begin, range.size); };
  return {cut(pairs.x), cut(pairs.v),
          pairs.token_rates.defined() ? cut(pairs.token_rates) : at::Tensor()};
}

/// g / (‖g‖₂ + 1), one norm per output column.
at::Tensor clipped(const at::Tensor& gradient, InnerClip clip) {
  if (clip == InnerClip::none) return gradient;
  return gradient / (at::linalg_vector_norm(gradient, 2, {-2}, /*keepdim=*/true) + 1);
}

}  // namespace

TokenRange mini_batch(std::int64_t tokens, std::int64_t batches, std::int64_t index) {
  const std::int64_t begin = index * tokens / batches;
  return {begin, (index + 1) * tokens / batches - begin};
}

InnerModelWeights closed_form_gradients(const InnerModel& model, const InnerPairs& pairs,
                                        const InnerModelWeights& weights, InnerLoss loss) {
  const InnerPrediction prediction = model.predict(pairs.x, weights);
  at::Tensor error = inner_loss_slope(loss, prediction.value, pairs.v);  // [B,h,N,d]
  if (pairs.token_rates.defined()) error = error * pairs.token_rates;
  return prediction.gradients(error / static_cast<double>(pairs.v.size(2)));
}

InnerModelWeights autograd_gradients(const InnerModel& model, const InnerPairs& pairs,
                                     const InnerModelWeights& weights, InnerLoss loss) {
  const at::AutoGradMode with_gradients(true);
  InnerModelWeights own;  // one copy a sample, so that every sample gets its own gradient
  for (const at::Tensor& w : weights) {
    at::Tensor copy =
        w.expand({pairs.v.size(0), w.size(1), w.size(2), w.size(3)}).clone();  // [B,h,rows,columns]
    if (!copy.requires_grad()) copy.requires_grad_();
    own.push_back(copy);
  }
  at::Tensor losses = inner_loss(loss, model.predict(pairs.x, own).value, pairs.v);  // [B,h,N]
  if (pairs.token_rates.defined()) losses = losses * pairs.token_rates.squeeze(-1);
  return torch::autograd::grad({losses.mean(2).sum()}, own, /*grad_outputs=*/{},
                               /*retain_graph=*/true, /*create_graph=*/true);
}

InnerTraining train_inner_model(const InnerModel& model, const InnerPairs& pairs,
                                InnerModelWeights weights, const InnerConfig& config,
                                InnerGradients gradients) {
  InnerTraining result;
  const auto gradients_of =
      gradients == InnerGradients::autograd ? autograd_gradients : closed_form_gradients;
  for (std::int64_t step = 0; step < config.steps(); ++step) {
    const TokenRange range = mini_batch(pairs.v.size(2), config.batches, step % config.batches);
    if (range.size == 0) continue;
    const InnerModelWeights g = gradients_of(model, slice(pairs, range), weights, config.loss);
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = weights[i] - config.learning_rate * clipped(g[i], config.clip);
    if (result.steps++ == 0) result.first_gradients = g;
  }
  result.weights = std::move(weights);
  return result;
}

}  // namespace ttt::vision
