// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/lact/lact.h"

#include <ATen/core/Generator.h>
#include <torch/nn/module.h>

#include <memory>
#include <optional>

namespace ttt::layers {

/// The two small LaCT layers of a1600012888/LaCT: minimal_implementations, under the official keys.
/// Weights are stored out_in: w0, w2 [heads, h, D], w1 [heads, D, h].
struct MinimalLactOptions {
  std::int64_t dim = 0;
  std::int64_t head_dim = 0;
  double inter_multi = 1;  ///< h = int(head_dim * inter_multi)
  bool use_o_norm = true;
  bool use_muon = true;
  double base_lr = 0.01;
  bool bf16_newton_schulz = false;
  // The bidirectional layer:
  bool qk_l2_norm = true;
  bool reference_compat = false;  ///< with the published defect (LactOptions::published_defect)
  // The causal layer:
  std::int64_t attn_head_dim = 0;
  std::int64_t lact_chunk_size = 2048;
  std::optional<std::int64_t> window_size = 2048;  ///< none: full causal attention
  bool use_momentum = true;
};

/// Output of a layer, and what it is made of.
struct MinimalLactResult {
  at::Tensor y;          ///< [B, N, dim]
  at::Tensor ttt;        ///< of the fast weights, before the norm, [B, N, dim]
  at::Tensor attention;  ///< of the causal layer, [B, N, dim]
  FastWeights state;     ///< in_out
};

/// Common to both layers: projections, fast weights and the norm of their output.
class MinimalLact : public torch::nn::Module {
 public:
  /// Fast weights N(0,1)/sqrt(fan in), projections uniform as the framework's default, norms 1.
  virtual void initialize(at::Generator generator);

 protected:
  explicit MinimalLact(const MinimalLactOptions& options);

  /// A matrix without bias, key "<name>.weight".
  class Projection : public torch::nn::Module {
   public:
    Projection(std::int64_t in, std::int64_t out, bool bias);
    at::Tensor forward(const at::Tensor& x) const;
    at::Tensor weight, bias;
  };
  class Norm : public torch::nn::Module {
   public:
    explicit Norm(std::int64_t width);
    at::Tensor weight;
  };

  std::shared_ptr<Projection> projection(const std::string& name, std::int64_t in, std::int64_t out,
                                         bool bias = false);
  void register_norm();
  FastWeights start() const;
  LactOptions lact_options() const;
  /// [B, N, 3, heads]; the channels of lr_proj are head-major.
  at::Tensor rates(const at::Tensor& x) const;
  /// RMSNorm per head (epsilon 1e-5), if there is one.
  at::Tensor normed(const at::Tensor& ttt) const;

  MinimalLactOptions options_;
  std::int64_t heads_, hidden_;
  at::Tensor w0_, w1_, w2_;
  std::shared_ptr<Projection> to_qkv_, o_proj_, lr_proj_;
  std::shared_ptr<Norm> o_norm_;
};

/// BidirectionalLaCTSwiGLU: one update on all tokens, then all are applied.
class BidirectionalLact : public MinimalLact {
 public:
  /// Throws Error(usage) for sizes that don't fit.
  explicit BidirectionalLact(const MinimalLactOptions& options);
  /// x [B, N, dim].
  MinimalLactResult forward(const at::Tensor& x) const;
};

/// CausalLaCTSwiGLUWithSlidingWindowAttn: chunks see those before them through the fast weights,
/// and the window through attention.
class CausalLact : public MinimalLact {
 public:
  explicit CausalLact(const MinimalLactOptions& options);
  MinimalLactResult forward(const at::Tensor& x) const;
  void initialize(at::Generator generator) override;

 private:
  at::Tensor attention(const at::Tensor& qkv) const;

  class Sequential : public torch::nn::Module {
   public:
    explicit Sequential(const std::shared_ptr<Projection>& first);
  };
  at::Tensor qk_scale_, qk_offset_;  // [dim, 2]
  std::shared_ptr<Projection> momentum_proj_, ttt_scale_proj_;
};

}  // namespace ttt::layers
