// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/swiglu_fast_weights/cuda.h"

#include "kernels/support/cuda_tensors.h"
#include "kernels/swiglu_fast_weights/backends.h"

#include <ATen/ATen.h>

namespace ttt::ops::cuda {
namespace {

constexpr std::string_view kOp = "swiglu_fast_weights";

SwigluSizes sizes_of(const at::Tensor& x, const SwigluMatrices& weights) {
  return {x.size(0), x.size(1), weights.w0.size(1), weights.w0.size(2), weights.w0.size(3)};
}

SwigluActivation activation(const at::Tensor& x) {
  return {x.data_ptr(), token_strides(x)};
}

/// One batch stride serves the three: they are shared together or not at all.
SwigluWeightPointers pointers(const SwigluMatrices& m) {
  return {m.w0.const_data_ptr<float>(), m.w1.const_data_ptr<float>(), m.w2.const_data_ptr<float>(),
          m.w0.size(0) == 1 ? 0 : m.w0.stride(0)};
}

SwigluSumPointers sum_pointers(const SwigluMatrices& m) {
  return {m.w0.mutable_data_ptr<float>(), m.w1.mutable_data_ptr<float>(),
          m.w2.mutable_data_ptr<float>()};
}

SwigluMatrices zeros(const SwigluMatrices& like) {
  return {at::zeros(like.w0.sizes(), like.w0.options()),
          at::zeros(like.w1.sizes(), like.w1.options()),
          at::zeros(like.w2.sizes(), like.w2.options())};
}

/// What all passes that sum over the tokens have in common.
SwigluSumsLaunch sums_launch(const at::Tensor& x, const at::Tensor& y,
                             const SwigluMatrices& weights, const SwigluMatrices& sums) {
  SwigluSumsLaunch launch;
  launch.type = data_type(x);
  launch.sizes = sizes_of(x, weights);
  launch.x = activation(x);
  launch.y = activation(y);
  launch.weights = pointers(weights);
  launch.sums = sum_pointers(sums);
  return launch;
}

void run(SwigluSumsLaunch launch, const at::Tensor& x, bool backward) {
  const at::Tensor workspace =
      at::empty({swiglu_sums_workspace(launch.sizes, backward)}, x.options().dtype(at::kFloat));
  launch.workspace = workspace.mutable_data_ptr<float>();
  run_on_stream(kOp, x, [&](const Stream& stream) { launch_swiglu_sums(launch, stream); });
}

}  // namespace

std::vector<at::ScalarType> swiglu_dtypes() {
  return {at::kFloat, at::kBFloat16};
}

void swiglu_apply(const at::Tensor& q, const SwigluMatrices& weights, const at::Tensor& out) {
  SwigluApplyLaunch launch;
  launch.type = data_type(q);
  launch.sizes = sizes_of(q, weights);
  launch.x = activation(q);
  launch.out = activation(out);
  launch.weights = pointers(weights);
  const at::Tensor workspace =
      at::empty({swiglu_apply_workspace(launch.sizes)}, q.options().dtype(at::kFloat));
  launch.workspace = workspace.mutable_data_ptr<float>();
  run_on_stream(kOp, q, [&](const Stream& stream) { launch_swiglu_apply(launch, stream); });
}

SwigluApplyGradients swiglu_apply_backward(const at::Tensor& q, const SwigluMatrices& weights,
                                           const at::Tensor& dout) {
  // The sums are those of the gradient with keys q and values dout.
  const SwigluApplyGradients result{at::empty(q.sizes(), q.options()), zeros(weights)};
  SwigluSumsLaunch launch = sums_launch(q, dout, weights, result.dweights);
  launch.dx = activation(result.dq);
  run(launch, q, true);
  return result;
}

void swiglu_gradient(const SwigluTokens& tokens, const SwigluMatrices& weights,
                     const SwigluMatrices& sums) {
  SwigluSumsLaunch launch = sums_launch(tokens.k, tokens.v, weights, sums);
  launch.rates = tokens.rates.const_data_ptr<float>();
  run(launch, tokens.k, false);
}

SwigluGradientGradients swiglu_gradient_backward(const SwigluTokens& tokens,
                                                 const SwigluMatrices& weights,
                                                 const SwigluMatrices& dsums) {
  const SwigluGradientGradients result{at::empty(tokens.k.sizes(), tokens.k.options()),
                                       at::empty(tokens.v.sizes(), tokens.v.options()),
                                       at::empty(tokens.rates.sizes(), tokens.rates.options()),
                                       zeros(weights)};
  SwigluSumsLaunch launch = sums_launch(tokens.k, tokens.v, weights, result.dweights);
  launch.rates = tokens.rates.const_data_ptr<float>();
  launch.drates = result.drates.mutable_data_ptr<float>();
  launch.dsums = pointers(dsums);
  launch.dx = activation(result.dk);
  launch.dy = activation(result.dv);
  run(launch, tokens.k, true);
  return result;
}

}  // namespace ttt::ops::cuda
