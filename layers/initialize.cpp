// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/initialize.h"

#include <torch/torch.h>

#include <cmath>

namespace ttt::layers {
namespace {

constexpr double kCut = 2.0;
constexpr double kLinearStd = 0.02;

}  // namespace

void fill_truncated_normal(at::Tensor tensor, double std, at::Generator generator) {
  const torch::NoGradGuard no_grad;
  tensor.normal_(0.0, std, generator);
  // Redraw what lies outside. With std 0.02 that is a 100-sigma event, so the loop ends at once.
  for (at::Tensor outside = tensor.abs() > kCut; outside.any().item<bool>();
       outside = tensor.abs() > kCut)
    tensor.copy_(at::where(outside, at::empty_like(tensor).normal_(0.0, std, generator), tensor));
}

void fill_convolution_default(at::Tensor weight, at::Tensor bias, at::Generator generator) {
  const torch::NoGradGuard no_grad;
  const double bound = 1.0 / std::sqrt(static_cast<double>(weight[0].numel()));
  weight.uniform_(-bound, bound, generator);
  if (bias.defined()) bias.uniform_(-bound, bound, generator);
}

void fill_linear_default(Linear& linear, at::Generator generator) {
  const torch::NoGradGuard no_grad;
  fill_truncated_normal(linear.weight, kLinearStd, generator);
  linear.bias.zero_();
}

void fill_convolution_default(DepthwiseConv& convolution, at::Generator generator) {
  fill_convolution_default(convolution.weight, convolution.bias, generator);
}

void fill_norm_default(LayerNorm& norm) {
  const torch::NoGradGuard no_grad;
  norm.weight.fill_(1);
  norm.bias.zero_();
}

void fill_norm_default(BatchNorm& norm) {
  const torch::NoGradGuard no_grad;
  norm.weight.fill_(1);
  norm.bias.zero_();
  norm.running_mean.zero_();
  norm.running_var.fill_(1);
  norm.num_batches_tracked.zero_();
}

}  // namespace ttt::layers
