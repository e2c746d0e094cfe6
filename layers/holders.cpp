// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/holders.h"

#include <torch/torch.h>

namespace ttt::layers {
namespace {

constexpr double kBatchNormEpsilon = 1e-5;
constexpr double kBatchNormMomentum = 0.1;

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out) {
  weight = register_parameter("weight", torch::empty({out, in}));
  bias = register_parameter("bias", torch::empty({out}));
}

at::Tensor Linear::forward(const at::Tensor& x) const {
  return at::linear(x, weight, bias);
}

LayerNorm::LayerNorm(std::int64_t dim, double epsilon) : dim_(dim), epsilon_(epsilon) {
  weight = register_parameter("weight", torch::empty({dim}));
  bias = register_parameter("bias", torch::empty({dim}));
}

at::Tensor LayerNorm::forward(const at::Tensor& x) const {
  return at::layer_norm(x, {dim_}, weight, bias, epsilon_);
}

DepthwiseConv::DepthwiseConv(std::int64_t dim) {
  weight = register_parameter("weight", torch::empty({dim, 1, 3, 3}));
  bias = register_parameter("bias", torch::empty({dim}));
}

BatchNorm::BatchNorm(std::int64_t dim) {
  weight = register_parameter("weight", torch::empty({dim}));
  bias = register_parameter("bias", torch::empty({dim}));
  running_mean = register_buffer("running_mean", torch::empty({dim}));
  running_var = register_buffer("running_var", torch::empty({dim}));
  num_batches_tracked = register_buffer("num_batches_tracked", torch::empty({}, torch::kLong));
}

at::Tensor BatchNorm::forward(const at::Tensor& x) const {
  if (is_training()) num_batches_tracked.add_(1);
  return at::batch_norm(x, weight, bias, running_mean, running_var, is_training(),
                        kBatchNormMomentum, kBatchNormEpsilon, /*cudnn_enabled=*/true);
}

std::pair<at::Tensor, at::Tensor> BatchNorm::scale_and_shift() const {
  const at::Tensor scale =
      weight.to(at::kDouble) / (running_var.to(at::kDouble) + kBatchNormEpsilon).sqrt();
  return {scale, bias.to(at::kDouble) - running_mean.to(at::kDouble) * scale};
}

}  // namespace ttt::layers
