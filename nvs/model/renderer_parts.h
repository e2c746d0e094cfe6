// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/linear/linear.h"
#include "nvs/model/renderer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <vector>

// Private to the renderer.
namespace ttt::nvs {

/// A sub-layer's matrices as the renderer uses them.
struct PreparedSubLayer {
  LvsmSubLayer options;
  std::string name;
  std::int64_t heads = 0;
  at::Tensor norm;                                  ///< of the input, float
  at::Tensor query, key_value, projection, hidden;  ///< in the compute dtype
  at::Tensor query_scale;                           ///< q_norm * k_norm / sqrt(D), float
  at::Tensor rate, rate_bias;
  layers::FastWeights start;
};

/// The tile-wise forward pass. x is always a contiguous part of the residual stream.
struct LvsmRenderer::Parts {
  LvsmConfig config;
  RendererOptions options;
  at::ScalarType wide = at::kFloat;  ///< residual stream, norms, states
  at::Tensor input_linear, input_norm, decoder_norm, decoder_linear;
  std::vector<PreparedSubLayer> subs;  ///< of all blocks, in order

  Parts(const LvsmModel& model, const RendererOptions& run);
  PreparedSubLayer prepared(const LvsmSubLayerModule& sub, std::string name) const;

  at::Tensor normed(const at::Tensor& x, const at::Tensor& weight) const {
    return at::layer_norm(x, {config.dim}, weight, {}, kLayerNormEpsilon);
  }
  at::Tensor operand(const at::Tensor& x, const PreparedSubLayer& sub) const {
    return normed(x, sub.norm).to(options.dtype);
  }
  at::Tensor linear(const at::Tensor& x, const at::Tensor& weight,
                    const ops::LinearFusion& fusion = {}) const {
    return ops::linear(x, weight, {}, fusion, options.backend);
  }
  /// y += x Wt
  void add_product(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight) const {
    ops::linear_out(x, weight, {ops::LinearActivation::none, y}, y, options.backend);
  }
  /// Calls f with consecutive rows of x [rows, dim], at most a tile at a time.
  template <typename F>
  void for_rows(const at::Tensor& x, F f) const {
    for (std::int64_t i = 0; i < x.size(0); i += options.tile_tokens)
      f(x.narrow(0, i, std::min(options.tile_tokens, x.size(0) - i)));
  }
  std::int64_t views_per_tile(std::int64_t tokens) const {
    return std::max<std::int64_t>(1, options.tile_tokens / tokens);
  }

  std::int64_t tokens_per_view(const CameraTensors& cameras) const {
    return (cameras.height / config.patch_size) * (cameras.width / config.patch_size);
  }
  at::TensorOptions wide_options() const {
    return at::TensorOptions().dtype(wide).device(options.device);
  }
  /// A state where and as this renderer computes.
  layers::FastWeights placed(const layers::FastWeights& state) const;

  void embed(const CameraTensors& cameras, const at::Tensor& images, const at::Tensor& x) const;
  at::Tensor decode(const at::Tensor& x, std::int64_t height, std::int64_t width) const;
  void attend(const PreparedSubLayer& sub, const at::Tensor& x) const;
  void attend_rows(const PreparedSubLayer& sub, const at::Tensor& x, const at::Tensor& operand,
                   const at::Tensor& key_value) const;
  void run_mlp(const PreparedSubLayer& sub, const at::Tensor& x) const;
  void apply(const PreparedSubLayer& sub, const ops::SwigluMatrices& weights,
             const at::Tensor& x) const;
  /// Everything but fast weights. x [views, n, dim], changed in place.
  void run(const PreparedSubLayer& sub, const at::Tensor& x) const;

  struct Tokens {
    at::Tensor k, v, rates;
  };
  Tokens tokens(const PreparedSubLayer& sub, const at::Tensor& rows) const;
  void add_gradient(const PreparedSubLayer& sub, const ops::SwigluMatrices& weights,
                    const at::Tensor& x, const ops::SwigluMatrices& sums,
                    FastWeightReport* report) const;
  double loss(const PreparedSubLayer& sub, const ops::SwigluMatrices& weights,
              const at::Tensor& rows) const;
};

}  // namespace ttt::nvs
