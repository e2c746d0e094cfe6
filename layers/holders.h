// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/linear.h"
#include "layers/process_sum.h"

#include <torch/nn/module.h>

#include <cstdint>
#include <utility>

/// Typed holders of parameters under the names that checkpoints use. Unlike torch::nn's modules
/// they leave their tensors uninitialised: a model is either loaded or initialised by initialize.h,
/// and filling 90 million weights twice would double the start-up time.
namespace ttt::layers {

/// y = activation(x Wᵀ + b) on the last axis. weight [out, in], bias [out].
class Linear : public torch::nn::Module {
 public:
  Linear(std::int64_t in, std::int64_t out);
  at::Tensor forward(const at::Tensor& x,
                     LinearActivation activation = LinearActivation::none) const;

  at::Tensor weight, bias;
};

/// LayerNorm over the last axis with affine weight and bias [dim].
class LayerNorm : public torch::nn::Module {
 public:
  LayerNorm(std::int64_t dim, double epsilon);
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight, bias;

 private:
  std::int64_t dim_;
  double epsilon_;
};

/// 3×3 depthwise convolution on tokens, zero padding 1. weight [dim,1,3,3], bias [dim].
/// The owner calls the fused op (kernels/depthwise_conv3x3) with the epilogue it needs.
class DepthwiseConv : public torch::nn::Module {
 public:
  explicit DepthwiseConv(std::int64_t dim);

  at::Tensor weight, bias;
};

/// Batch normalisation over the channel axis (0: batch, 1: channels for [B,C,…] inputs).
/// weight, bias, running_mean, running_var [dim]; num_batches_tracked int64 scalar.
class BatchNorm : public torch::nn::Module {
 public:
  explicit BatchNorm(std::int64_t dim);
  /// Uses batch statistics in training mode, running ones otherwise. ε 1e-5, momentum 0.1.
  at::Tensor forward(const at::Tensor& x) const;
  /// From now on, batch statistics are those of the joint batch of all processes.
  void synchronize(SumOverProcesses sum) { sum_ = std::move(sum); }
  /// Per-channel factor and offset of the evaluation mode, in fp64: y = x·scale + shift.
  std::pair<at::Tensor, at::Tensor> scale_and_shift() const;

  at::Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 private:
  at::Tensor forward_synchronized(const at::Tensor& x) const;

  SumOverProcesses sum_;
};

/// Calls synchronize() for every BatchNorm of a model.
void synchronize_batch_norms(torch::nn::Module& model, const SumOverProcesses& sum);

}  // namespace ttt::layers
