// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vision/design_space/inner_model.h"

namespace ttt::vision {

/// What an inner model is trained on, all in the type of its weights.
struct InnerPairs {
  at::Tensor x;            ///< InnerModel::input() of the keys
  at::Tensor v;            ///< [B,heads,N,d]
  at::Tensor token_rates;  ///< [B,heads,N,1], weights of the tokens' gradients; undefined for 1
};

struct InnerTraining {
  InnerModelWeights weights;          ///< [B,heads,rows,columns]
  InnerModelWeights first_gradients;  ///< of the first step, before the clip
  std::int64_t steps = 0;
};

/// Bounds of mini-batch i of k: tokens ⌊i·N/k⌋ up to ⌊(i+1)·N/k⌋, in raster order; k mini-batches
/// of sizes that differ by one token at most. Empty ones (N < k) take no step.
struct TokenRange {
  std::int64_t begin = 0, size = 0;
};
TokenRange mini_batch(std::int64_t tokens, std::int64_t batches, std::int64_t index);

/// ∂/∂W of the mean over tokens of the loss, for each sample and head.
InnerModelWeights closed_form_gradients(const InnerModel& model, const InnerPairs& pairs,
                                        const InnerModelWeights& weights, InnerLoss loss);
/// The same by autograd with create_graph: a second, independent way, for tests. Can't run in
/// inference mode.
InnerModelWeights autograd_gradients(const InnerModel& model, const InnerPairs& pairs,
                                     const InnerModelWeights& weights, InnerLoss loss);

/// Takes all epochs and mini-batches of the configuration:
///   W ← W − η · clip(∂/∂W mean over the mini-batch of rate · L(F_W(k), v)).
/// Where autograd records, the outer training can go through all steps.
InnerTraining train_inner_model(const InnerModel& model, const InnerPairs& pairs,
                                InnerModelWeights weights, const InnerConfig& config,
                                InnerGradients gradients);

}  // namespace ttt::vision
