// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/design_space/inner_loss.h"

#include "core/error.h"

#include <torch/torch.h>

namespace ttt::vision {
namespace {

constexpr double kScale = 1.0 / 3.0;  // vision TTT's 9^(-1/2), whatever the head's width
constexpr double kRootFloor = 1e-12;

/// √(Σ r² + floor) [B,heads,N,1]
at::Tensor error_norm(const at::Tensor& r) {
  return (r.square().sum(-1, /*keepdim=*/true) + kRootFloor).sqrt();
}

at::Tensor unscaled_loss(InnerLoss loss, const at::Tensor& predicted, const at::Tensor& value) {
  switch (loss) {
    case InnerLoss::dot:
      return -(predicted * value).sum(-1);
    case InnerLoss::mse:
      return 0.5 * (predicted - value).square().sum(-1);
    case InnerLoss::rmse:
      return error_norm(predicted - value).squeeze(-1);
    case InnerLoss::mae:
      return (predicted - value).abs().sum(-1);
    case InnerLoss::smooth_l1:
      return at::smooth_l1_loss(predicted, value, at::Reduction::None).sum(-1);
  }
  throw Error(ErrorKind::internal, "unknown inner loss", "inner_loss");
}

at::Tensor unscaled_slope(InnerLoss loss, const at::Tensor& predicted, const at::Tensor& value) {
  if (loss == InnerLoss::dot) return -value;
  const at::Tensor r = predicted - value;
  switch (loss) {
    case InnerLoss::rmse:
      return r / error_norm(r);
    case InnerLoss::mae:
      return r.sign();
    case InnerLoss::smooth_l1:
      return r.clamp(-1, 1);
    default:
      return r;
  }
}

}  // namespace

at::Tensor inner_loss(InnerLoss loss, const at::Tensor& predicted, const at::Tensor& value) {
  return kScale * unscaled_loss(loss, predicted, value);
}

at::Tensor inner_loss_slope(InnerLoss loss, const at::Tensor& predicted, const at::Tensor& value) {
  return kScale * unscaled_slope(loss, predicted, value);
}

}  // namespace ttt::vision
