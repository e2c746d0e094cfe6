// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vision/design_space/config.h"
#include "vision/forward_context.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ttt::vision {

/// Weights of an inner model, [1 or B, heads, rows, columns] each, applied as `x @ w`.
using InnerModelWeights = std::vector<at::Tensor>;

/// What an inner model says, and the closed form of its gradients. All of it is made of
/// differentiable operations, so that the outer training can go through.
struct InnerPrediction {
  at::Tensor value;  ///< v̂ [B,heads,N,d]
  /// From e = ∂L/∂v̂ [B,heads,N,d] to ∂L/∂W of every weight, [B,heads,rows,columns].
  std::function<InnerModelWeights(const at::Tensor& error)> gradients;
};

/// One of the simple inner models (all of InnerModelKind but vit3, which is two of them).
class InnerModel {
 public:
  struct Parameter {
    std::string name;  ///< w1, w2: hidden or only layer; w_out: output layer; w3: convolution
    std::vector<std::int64_t> shape;
  };

  virtual ~InnerModel() = default;
  /// As in state dicts: matrices [1,heads,in,out], convolutions [out,in/groups,3,3].
  virtual std::vector<Parameter> parameters() const = 0;
  /// From stored parameters to weights [1,heads,rows,columns].
  virtual InnerModelWeights weights(const std::vector<at::Tensor>& parameters) const = 0;
  /// From tokens [B,heads,N,d] on the grid to what predict() takes, token by token.
  virtual at::Tensor input(const at::Tensor& tokens, Grid grid) const = 0;
  /// x: tokens n, …, m of input(), dimension 2.
  virtual InnerPrediction predict(const at::Tensor& x, const InnerModelWeights& weights) const = 0;
};

/// `head_dim` d; `width` as in InnerConfig. Throws Error(internal) for vit3.
std::unique_ptr<InnerModel> make_inner_model(InnerModelKind kind, std::int64_t heads,
                                             std::int64_t head_dim, std::int64_t width);

}  // namespace ttt::vision
