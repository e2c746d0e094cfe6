// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ttt_gated_linear/cuda.h"

#include "core/error.h"
#include "kernels/support/cuda_tensors.h"
#include "kernels/ttt_gated_linear/backends.h"

#include <ATen/ops/empty.h>

namespace ttt::ops::cuda {
namespace {

constexpr std::string_view kOp = "ttt_gated_linear";

/// Sizes of activations x and weights w; refuses heads that the kernels don't take.
GatedLinearSizes sizes_of(const at::Tensor& x, const at::Tensor& w) {
  TTT_CHECK(w.size(2) <= kMaxHeadWidth, unsupported,
            "heads of " + std::to_string(w.size(2)) + " channels; on the GPU they have at most " +
                std::to_string(kMaxHeadWidth),
            std::string(kOp), "use --device cpu");
  return {x.size(0), x.size(1), w.size(1), w.size(2)};
}

TokenInput input(const at::Tensor& tensor) {
  return {tensor.const_data_ptr(), token_strides(tensor)};
}
TokenOutput output(const at::Tensor& tensor) {
  return {tensor.mutable_data_ptr(), token_strides(tensor)};
}

MatrixPair pair(const at::Tensor& first, const at::Tensor& second) {
  return {first.const_data_ptr<float>(), second.const_data_ptr<float>(), first.stride(0)};
}
MatrixPairOutput output_pair(const at::Tensor& first, const at::Tensor& second) {
  return {first.mutable_data_ptr<float>(), second.mutable_data_ptr<float>()};
}

/// One weight may be shared by the samples and the other not; the kernels know one batch stride.
std::pair<at::Tensor, at::Tensor> alike(const at::Tensor& w1, const at::Tensor& w2) {
  if (w1.stride(0) == w2.stride(0)) return {w1, w2};
  return {w1.contiguous(), w2.contiguous()};
}

RopeAngles angles(const RopeTable* rope) {
  if (rope == nullptr) return {};
  return {rope->row_cos.const_data_ptr<float>(),    rope->row_sin.const_data_ptr<float>(),
          rope->column_cos.const_data_ptr<float>(), rope->column_sin.const_data_ptr<float>(),
          static_cast<int>(rope->width()),          static_cast<int>(rope->channels() / 4)};
}

at::Tensor new_matrices(const GatedLinearSizes& sizes, const at::Tensor& like) {
  return at::empty({sizes.batch, sizes.heads, sizes.width, sizes.width}, like.options());
}

}  // namespace

std::vector<at::ScalarType> gated_linear_dtypes() {
  return {at::kFloat, at::kBFloat16};
}

GatedLinearStep gated_linear_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w1,
                                  const at::Tensor& w2, const RopeTable* rope) {
  const GatedLinearSizes sizes = sizes_of(k, w1);
  const GatedLinearStep step{new_matrices(sizes, w1), new_matrices(sizes, w1),
                             new_matrices(sizes, w1), new_matrices(sizes, w1)};
  const at::Tensor workspace = at::empty({gated_linear_workspace(sizes)}, w1.options());
  const auto [first, second] = alike(w1, w2);
  GatedLinearStepLaunch launch;
  launch.type = data_type(k);
  launch.sizes = sizes;
  launch.k = input(k);
  launch.v = input(v);
  launch.weights = pair(first, second);
  launch.new_weights = output_pair(step.w1, step.w2);
  launch.gradients = output_pair(step.g1, step.g2);
  launch.rope = angles(rope);
  launch.workspace = workspace.mutable_data_ptr<float>();
  run_on_stream(kOp, k, [&](const Stream& stream) { launch_gated_linear_step(launch, stream); });
  return step;
}

GatedLinearStepGradients gated_linear_step_backward(const GatedLinearStepSaved& saved,
                                                    const at::Tensor& dw1, const at::Tensor& dw2) {
  const GatedLinearSizes sizes = sizes_of(saved.k, saved.w1);
  const GatedLinearStepGradients result{
      at::empty(saved.k.sizes(), saved.k.options()), at::empty(saved.v.sizes(), saved.v.options()),
      new_matrices(sizes, saved.w1), new_matrices(sizes, saved.w1)};
  const at::Tensor workspace =
      at::empty({gated_linear_backward_workspace(sizes)}, saved.w1.options());
  const auto [first, second] = alike(saved.w1, saved.w2);
  GatedLinearStepBackwardLaunch launch;
  launch.type = data_type(saved.k);
  launch.sizes = sizes;
  launch.k = input(saved.k);
  launch.v = input(saved.v);
  launch.weights = pair(first, second);
  launch.gradients = pair(saved.g1, saved.g2);
  launch.d_new_weights = pair(dw1, dw2);
  launch.dk = output(result.dk);
  launch.dv = output(result.dv);
  launch.d_weights = output_pair(result.dw1, result.dw2);
  launch.rope = angles(saved.rope);
  launch.workspace = workspace.mutable_data_ptr<float>();
  run_on_stream(kOp, saved.k,
                [&](const Stream& stream) { launch_gated_linear_step_backward(launch, stream); });
  return result;
}

void gated_linear_apply(const at::Tensor& q, const at::Tensor& w1, const at::Tensor& w2,
                        const RopeTable* rope, const at::Tensor& out) {
  const auto [first, second] = alike(w1, w2);
  GatedLinearApplyLaunch launch;
  launch.type = data_type(q);
  launch.sizes = sizes_of(q, w1);
  launch.q = input(q);
  launch.weights = pair(first, second);
  launch.out = output(out);
  launch.rope = angles(rope);
  run_on_stream(kOp, q, [&](const Stream& stream) { launch_gated_linear_apply(launch, stream); });
}

GatedLinearApplyGradients gated_linear_apply_backward(const at::Tensor& q, const at::Tensor& w1,
                                                      const at::Tensor& w2, const at::Tensor& dout,
                                                      const RopeTable* rope) {
  const GatedLinearSizes sizes = sizes_of(q, w1);
  const GatedLinearApplyGradients result{at::empty(q.sizes(), q.options()), new_matrices(sizes, w1),
                                         new_matrices(sizes, w1)};
  const at::Tensor workspace = at::empty({gated_linear_workspace(sizes)}, w1.options());
  const auto [first, second] = alike(w1, w2);
  GatedLinearApplyBackwardLaunch launch;
  launch.type = data_type(q);
  launch.sizes = sizes;
  launch.q = input(q);
  launch.weights = pair(first, second);
  launch.dout = input(dout);
  launch.dq = output(result.dq);
  launch.d_weights = output_pair(result.dw1, result.dw2);
  launch.rope = angles(rope);
  launch.workspace = workspace.mutable_data_ptr<float>();
  run_on_stream(kOp, q,
                [&](const Stream& stream) { launch_gated_linear_apply_backward(launch, stream); });
  return result;
}

}  // namespace ttt::ops::cuda
