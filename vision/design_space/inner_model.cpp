// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/design_space/inner_model.h"

#include "core/error.h"

#include <torch/torch.h>

namespace ttt::vision {
namespace {

using at::Tensor;
using Weights = InnerModelWeights;
using Parameters = std::vector<InnerModel::Parameter>;

constexpr std::int64_t kTaps = 9;

/// d silu(z) / dz
Tensor silu_slope(const Tensor& z) {
  const Tensor s = at::sigmoid(z);
  return s * (1 + z * (1 - s));
}

Tensor transposed(const Tensor& matrix) {
  return matrix.transpose(-2, -1);
}

/// Models made of matrices: tokens go in as they are.
class MatrixModel : public InnerModel {
 public:
  explicit MatrixModel(Parameters parameters) : parameters_(std::move(parameters)) {}
  Parameters parameters() const override { return parameters_; }
  Weights weights(const std::vector<Tensor>& parameters) const override { return parameters; }
  Tensor input(const Tensor& tokens, Grid) const override { return tokens; }

 private:
  Parameters parameters_;
};

InnerPrediction predict_linear(const Tensor& x, const Weights& w) {
  return {at::matmul(x, w[0]),
          [x](const Tensor& e) { return Weights{at::matmul(transposed(x), e)}; }};
}

class LinearModel : public MatrixModel {
 public:
  using MatrixModel::MatrixModel;
  InnerPrediction predict(const Tensor& x, const Weights& w) const override {
    return predict_linear(x, w);
  }
};

class SiluLinearModel : public MatrixModel {
 public:
  using MatrixModel::MatrixModel;
  InnerPrediction predict(const Tensor& x, const Weights& w) const override {
    const Tensor z = at::matmul(x, w[0]);  // [B,h,N,d]
    return {at::silu(z), [x, z](const Tensor& e) {
              return Weights{at::matmul(transposed(x), e * silu_slope(z))};
            }};
  }
};

/// Layers with SiLU between them, none behind the last.
class MlpModel : public MatrixModel {
 public:
  using MatrixModel::MatrixModel;
  InnerPrediction predict(const Tensor& x, const Weights& w) const override {
    std::vector<Tensor> inputs{x}, sums;  // of each layer: [B,h,N,d or width·d]
    for (std::size_t i = 0; i + 1 < w.size(); ++i) {
      sums.push_back(at::matmul(inputs.back(), w[i]));
      inputs.push_back(at::silu(sums.back()));
    }
    return {at::matmul(inputs.back(), w.back()), [w, inputs, sums](const Tensor& error) {
              Weights gradients(w.size());
              Tensor e = error;  // ∂L/∂ the layer's result
              for (std::size_t i = w.size(); i-- > 0;) {
                gradients[i] = at::matmul(transposed(inputs[i]), e);
                if (i > 0) e = at::matmul(e, transposed(w[i])) * silu_slope(sums[i - 1]);
              }
              return gradients;
            }};
  }
};

/// (x W1) ∘ silu(x W2), with an output layer behind it where there are three weights.
class GatedModel : public MatrixModel {
 public:
  using MatrixModel::MatrixModel;
  InnerPrediction predict(const Tensor& x, const Weights& w) const override {
    const Tensor z1 = at::matmul(x, w[0]);  // [B,h,N,d or width·d]
    const Tensor z2 = at::matmul(x, w[1]);
    const Tensor gate = at::silu(z2);
    const Tensor product = z1 * gate;
    const bool output_layer = w.size() == 3;
    return {output_layer ? at::matmul(product, w[2]) : product,
            [w, x, z1, z2, gate, product, output_layer](const Tensor& error) {
              const Tensor e = output_layer ? at::matmul(error, transposed(w[2])) : error;
              Weights gradients{at::matmul(transposed(x), e * gate),
                                at::matmul(transposed(x), e * z1 * silu_slope(z2))};
              if (output_layer) gradients.push_back(at::matmul(transposed(product), error));
              return gradients;
            }};
  }
};

/// The 3×3 neighbourhood of every token, row by row, zero outside the grid: [B,h,N,9,d]. On these a
/// convolution is a model that sees one token at a time, so mini-batches of tokens need no rule of
/// their own: the neighbourhood may reach beyond the mini-batch, the loss does not.
Tensor neighbourhoods(const Tensor& tokens, Grid grid) {
  const Tensor map = at::constant_pad_nd(tokens.unflatten(2, {grid.height, grid.width}),
                                         {0, 0, 1, 1, 1, 1});  // [B,h,H+2,W+2,d]
  std::vector<Tensor> taps;
  for (std::int64_t i = 0; i < kTaps; ++i)
    taps.push_back(map.narrow(2, i / 3, grid.height).narrow(3, i % 3, grid.width).flatten(2, 3));
  return at::stack(taps, 3);
}

class ConvModel : public InnerModel {
 public:
  ConvModel(std::int64_t heads, std::int64_t d) : heads_(heads), d_(d) {}
  Parameters parameters() const override { return {{"w3", {heads_ * d_, d_, 3, 3}}}; }
  Weights weights(const std::vector<Tensor>& parameters) const override {
    const Tensor taps = parameters[0].view({heads_, d_, d_, kTaps});  // [h,out,in,9]
    return {taps.permute({0, 3, 2, 1}).flatten(1, 2).unsqueeze(0)};   // [1,h,9·in,out]
  }
  Tensor input(const Tensor& tokens, Grid grid) const override {
    return neighbourhoods(tokens, grid).flatten(3);  // [B,h,N,9·d]
  }
  InnerPrediction predict(const Tensor& x, const Weights& w) const override {
    return predict_linear(x, w);
  }

 private:
  std::int64_t heads_, d_;
};

class DepthwiseModel : public InnerModel {
 public:
  DepthwiseModel(std::int64_t heads, std::int64_t d) : heads_(heads), d_(d) {}
  Parameters parameters() const override { return {{"w3", {heads_ * d_, 1, 3, 3}}}; }
  Weights weights(const std::vector<Tensor>& parameters) const override {
    const Tensor taps = parameters[0].view({heads_, d_, kTaps});
    return {transposed(taps).unsqueeze(0)};  // [1,h,9,d]
  }
  Tensor input(const Tensor& tokens, Grid grid) const override {
    return neighbourhoods(tokens, grid);  // [B,h,N,9,d]
  }
  InnerPrediction predict(const Tensor& x, const Weights& w) const override {
    return {(x * w[0].unsqueeze(2)).sum(3),
            [x](const Tensor& e) { return Weights{(x * e.unsqueeze(3)).sum(2)}; }};
  }

 private:
  std::int64_t heads_, d_;
};

}  // namespace

std::unique_ptr<InnerModel> make_inner_model(InnerModelKind kind, std::int64_t heads,
                                             std::int64_t d, std::int64_t width) {
  const std::int64_t hidden = width * d;
  const auto matrix = [heads](const char* name, std::int64_t in, std::int64_t out) {
    return InnerModel::Parameter{name, {1, heads, in, out}};
  };
  switch (kind) {
    case InnerModelKind::linear:
      return std::make_unique<LinearModel>(Parameters{matrix("w1", d, d)});
    case InnerModelKind::silu_linear:
      return std::make_unique<SiluLinearModel>(Parameters{matrix("w1", d, d)});
    case InnerModelKind::mlp2:
      return std::make_unique<MlpModel>(
          Parameters{matrix("w1", d, hidden), matrix("w_out", hidden, d)});
    case InnerModelKind::mlp3:
      return std::make_unique<MlpModel>(Parameters{
          matrix("w1", d, hidden), matrix("w2", hidden, hidden), matrix("w_out", hidden, d)});
    case InnerModelKind::swiglu:
      return std::make_unique<GatedModel>(
          Parameters{matrix("w1", d, hidden), matrix("w2", d, hidden), matrix("w_out", hidden, d)});
    case InnerModelKind::gated_linear:
      return std::make_unique<GatedModel>(Parameters{matrix("w1", d, d), matrix("w2", d, d)});
    case InnerModelKind::conv:
      return std::make_unique<ConvModel>(heads, d);
    case InnerModelKind::depthwise:
      return std::make_unique<DepthwiseModel>(heads, d);
    case InnerModelKind::vit3:
      break;
  }
  throw Error(ErrorKind::internal, "vit3 is two inner models", "make_inner_model");
}

}  // namespace ttt::vision
