// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/depthwise_conv3x3/depthwise_conv3x3.h"
#include "kernels/linear/linear.h"
#include "layers/process_sum.h"

#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <utility>

/// Typed holders of parameters under the names that checkpoints use. Unlike torch::nn's modules
/// they leave their tensors uninitialised: a model is either loaded or initialised by initialize.h,
/// and filling 90 million weights twice would double the start-up time.
namespace ttt::layers {

/// A layer whose weights can be laid out once for inference.
class Packable {
 public:
  virtual ~Packable() = default;
  /// The weights must not change in place afterwards; moved or converted ones are noticed, and laid
  /// out in each call again.
  virtual void pack() = 0;
};

/// Packs every layer of a model, in the dtype and on the device that it has now.
void pack_for_inference(torch::nn::Module& model);

/// y = x Wᵀ + b on the last axis. weight [out, in], bias [out].
class Linear : public torch::nn::Module, public Packable {
 public:
  Linear(std::int64_t in, std::int64_t out);
  /// With what is fused behind the product.
  at::Tensor forward(const at::Tensor& x, const ops::LinearFusion& fusion = {},
                     ops::Backend backend = ops::Backend::automatic) const;
  /// Whether forward_into can be called for such an input: the weights are packed for its dtype,
  /// and neither gradients nor autocast stand against it.
  bool computes_into(const at::Tensor& x) const;
  /// The same into `out` [..., out], which may be the residual; its rows are evenly spaced.
  void forward_into(const at::Tensor& out, const at::Tensor& x, const ops::LinearFusion& fusion,
                    ops::Backend backend) const;
  void pack() override;

  at::Tensor weight, bias;

 private:
  ops::PackedLinear packed_;
};

/// The packed weights (of ops::PackedLinear or PackedDepthwiseConv) are there, of this very weight
/// and for activations of `dtype`, and no gradients are recorded.
template <typename Packed>
bool packed_fits(const Packed& packed, const at::Tensor& weight, at::ScalarType dtype) {
  return packed.defined() && !at::GradMode::is_enabled() && packed.dtype() == dtype &&
         packed.weight().const_data_ptr() == weight.const_data_ptr();
}

/// A linear map by the packed weights where they are there, of these very weights and for the dtype
/// of x, and no gradients are recorded; else by the weights.
at::Tensor packed_linear(const at::Tensor& x, const ops::PackedLinear& packed,
                         const at::Tensor& weight, const at::Tensor& bias,
                         const ops::LinearFusion& fusion, ops::Backend backend);

/// LayerNorm over the last axis with affine weight and bias [dim].
class LayerNorm : public torch::nn::Module {
 public:
  LayerNorm(std::int64_t dim, double epsilon);
  at::Tensor forward(const at::Tensor& x) const;
  /// The same as a part of the linear map that reads its result.
  ops::LinearNorm fused() const { return {weight, bias, epsilon_}; }

  at::Tensor weight, bias;

 private:
  std::int64_t dim_;
  double epsilon_;
};

/// 3×3 depthwise convolution on the grid, zero padding 1. weight [dim,1,3,3], bias [dim].
class DepthwiseConv : public torch::nn::Module, public Packable {
 public:
  explicit DepthwiseConv(std::int64_t dim);
  /// x [B,h,w,dim] -> [B,⌈h/stride⌉,⌈w/stride⌉,dim], with what is fused with the convolution.
  at::Tensor forward(const at::Tensor& x, const ops::DepthwiseConvOptions& fusion,
                     ops::Backend backend) const;
  /// The weights laid out, if they fit an input of this dtype (see packed_fits); else null.
  const ops::PackedDepthwiseConv* packed_for(at::ScalarType dtype) const;
  void pack() override;

  at::Tensor weight, bias;

 private:
  ops::PackedDepthwiseConv packed_;
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
