// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/holders.h"

#include <ATen/autocast_mode.h>
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

at::Tensor Linear::forward(const at::Tensor& x, const ops::LinearFusion& fusion,
                           ops::Backend backend) const {
  return packed_linear(x, packed_, weight, bias, fusion, backend);
}

bool Linear::computes_into(const at::Tensor& x) const {
  return packed_fits(packed_, weight, x.scalar_type()) &&
         !at::autocast::is_autocast_enabled(x.device().type());
}

void Linear::forward_into(const at::Tensor& out, const at::Tensor& x,
                          const ops::LinearFusion& fusion, ops::Backend backend) const {
  ops::linear_out(x, packed_, fusion, out, backend);
}

void Linear::pack() {
  packed_ = ops::PackedLinear(weight, bias, weight.scalar_type());
}

at::Tensor packed_linear(const at::Tensor& x, const ops::PackedLinear& packed,
                         const at::Tensor& weight, const at::Tensor& bias,
                         const ops::LinearFusion& fusion, ops::Backend backend) {
  if (packed_fits(packed, weight, x.scalar_type())) return ops::linear(x, packed, fusion, backend);
  if (!fusion.norm.defined()) return ops::linear(x, weight, bias, fusion, backend);
  // A norm of its own, as with gradients: a block that is run again has to give the same.
  const auto& [norm_weight, norm_bias, epsilon] = fusion.norm;
  const at::Tensor normed = at::layer_norm(x, {x.size(-1)}, norm_weight, norm_bias, epsilon);
  return ops::linear(normed, weight, bias, {fusion.activation, fusion.residual}, backend);
}

void pack_for_inference(torch::nn::Module& model) {
  for (const auto& module : model.modules())
    if (auto* layer = dynamic_cast<Packable*>(module.get())) layer->pack();
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

at::Tensor DepthwiseConv::forward(const at::Tensor& x, const ops::DepthwiseConvOptions& fusion,
                                  ops::Backend backend) const {
  if (const ops::PackedDepthwiseConv* packed = packed_for(x.scalar_type()))
    return ops::depthwise_conv3x3(x, *packed, fusion, backend);
  return ops::depthwise_conv3x3(x, weight, bias, fusion, backend);
}

const ops::PackedDepthwiseConv* DepthwiseConv::packed_for(at::ScalarType dtype) const {
  return packed_fits(packed_, weight, dtype) ? &packed_ : nullptr;
}

void DepthwiseConv::pack() {
  packed_ = ops::PackedDepthwiseConv(weight, bias, weight.scalar_type());
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
  if (is_training() && sum_) return forward_synchronized(x);
  return at::batch_norm(x, weight, bias, running_mean, running_var, is_training(),
                        kBatchNormMomentum, kBatchNormEpsilon, /*cudnn_enabled=*/true);
}

at::Tensor BatchNorm::forward_synchronized(const at::Tensor& x) const {
  const auto sum = [this](const at::Tensor& value) { return sum_over_processes(value, sum_); };
  std::vector<std::int64_t> axes{0}, shape{1, x.size(1)};
  for (std::int64_t i = 2; i < x.dim(); ++i) {
    axes.push_back(i);
    shape.push_back(1);
  }
  const auto dtype = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor wide = x.to(dtype);
  const at::Tensor elements =
      at::full({1}, static_cast<double>(x.numel() / x.size(1)), wide.options());
  // Two passes: the variance from squares would lose digits.
  const at::Tensor sums = sum(at::cat({wide.sum(axes), elements}));
  const at::Tensor count = sums.narrow(0, x.size(1), 1).detach();
  const at::Tensor mean = sums.narrow(0, 0, x.size(1)) / count;  // [C]
  const at::Tensor centred = wide - mean.view(shape);
  const at::Tensor variance = sum(centred.square().sum(axes)) / count;  // [C]
  {
    const torch::NoGradGuard no_grad;
    running_mean.lerp_(mean.to(running_mean.scalar_type()), kBatchNormMomentum);
    const at::Tensor unbiased = variance * (count / (count - 1));
    running_var.lerp_(unbiased.to(running_var.scalar_type()), kBatchNormMomentum);
  }
  const at::Tensor scale = (variance + kBatchNormEpsilon).rsqrt() * weight;
  return (centred * scale.view(shape) + bias.view(shape)).to(x.scalar_type());
}

std::pair<at::Tensor, at::Tensor> BatchNorm::scale_and_shift() const {
  const at::Tensor scale =
      weight.to(at::kDouble) / (running_var.to(at::kDouble) + kBatchNormEpsilon).sqrt();
  return {scale, bias.to(at::kDouble) - running_mean.to(at::kDouble) * scale};
}

void synchronize_batch_norms(torch::nn::Module& model, const SumOverProcesses& sum) {
  for (const auto& module : model.modules())
    if (auto* norm = dynamic_cast<BatchNorm*>(module.get())) norm->synchronize(sum);
}

}  // namespace ttt::layers
