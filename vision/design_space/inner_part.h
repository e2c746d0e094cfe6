// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vision/design_space/inner_training.h"

namespace ttt::vision {

/// Queries, keys and values of one inner model, [B,N,heads·d] each, and its token rates
/// [B,N,heads]; undefined where all are 1.
struct InnerTokens {
  at::Tensor q, k, v, token_rates;
};

/// One inner model inside a block: trains it on the keys and values, then answers the queries.
class InnerPart {
 public:
  /// Where the tokens are and what the pass must do.
  struct Pass {
    Grid grid;
    const ForwardContext& context;
    InnerStepReport* report = nullptr;  ///< gets one entry
  };

  InnerPart(InnerModelKind kind, std::int64_t heads, std::int64_t head_dim,
            const InnerConfig& config);

  std::vector<InnerModel::Parameter> parameters() const { return model_->parameters(); }
  /// The tensors that parameters() described; kept by reference to their storage.
  void attach(std::vector<at::Tensor> parameters) { stored_ = std::move(parameters); }
  std::int64_t heads() const { return heads_; }
  std::int64_t channels() const { return heads_ * head_dim_; }

  /// -> [B,N,heads·d] in the type of q.
  at::Tensor forward(const InnerTokens& tokens, const Pass& pass) const;

 private:
  InnerModelWeights initial_weights() const;
  bool fast_step_fits() const;
  InnerModelWeights fast_step(const InnerTokens& tokens, const Pass& pass) const;
  InnerModelWeights step(const InnerTokens& tokens, const Pass& pass) const;
  at::Tensor apply(const at::Tensor& q, const InnerModelWeights& weights, const Pass& pass) const;
  at::Tensor fast_apply(const at::Tensor& q, const InnerModelWeights& weights,
                        const Pass& pass) const;
  /// [B,N,heads·d] -> [B,heads,N,d] in the type of the weights.
  at::Tensor split_heads(const at::Tensor& tokens) const;
  void report(const InnerPairs& pairs, const InnerTraining& training, InnerStepReport& into) const;

  InnerModelKind kind_;
  std::int64_t heads_, head_dim_;
  InnerConfig config_;
  std::shared_ptr<const InnerModel> model_;
  std::vector<at::Tensor> stored_;
};

}  // namespace ttt::vision
