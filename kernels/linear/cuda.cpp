// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/cuda.h"

#include "kernels/linear/backends.h"
#include "kernels/support/cuda_tensors.h"

#include <ATen/ATen.h>

namespace ttt::ops::cuda {
namespace {

constexpr std::string_view kOp = "linear";

LinearMatrix matrix_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  return {const_cast<void*>(tensor.const_data_ptr()), tensor.stride(0), data_type(tensor)};
}

/// A B with float results: rounded to bfloat16, a sum that the bias nearly cancels would lose its
/// sign, and with it the gradient behind a relu. The products are LibTorch's (cuBLAS).
at::Tensor float_product(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() == at::kFloat) return at::mm(a, b);
  if (a.is_cuda()) return at::mm(a, b, at::kFloat);
  return at::mm(a.to(at::kFloat), b.to(at::kFloat));  // emulated
}

at::Tensor normalised(const LinearRows& rows) {
  if (!rows.norm.defined()) return rows.x;
  return at::layer_norm(rows.x.to(at::kFloat), {rows.x.size(1)}, rows.norm.weight, rows.norm.bias,
                        rows.norm.epsilon)
      .to(rows.x.scalar_type());
}

}  // namespace

std::vector<at::ScalarType> linear_dtypes() {
  return {at::kFloat, at::kBFloat16};
}

void linear(const LinearRows& rows, const at::Tensor& weight, const LinearTail& tail,
            const at::Tensor& out) {
  const at::Tensor x = normalised(rows);
  const at::Tensor sums = float_product(x, weight.to(x.scalar_type()).t());
  LinearFinishLaunch launch;
  launch.rows = out.size(0);
  launch.columns = out.size(1);
  launch.activation = tail.activation;
  if (tail.bias.defined()) launch.bias = tail.bias.const_data_ptr<float>();
  launch.sums = matrix_of(sums);
  launch.before = matrix_of(tail.before);
  launch.residual = matrix_of(tail.residual);
  launch.out = matrix_of(out);
  run_on_stream(kOp, x, [&](const Stream& stream) { launch_linear_finish(launch, stream); });
}

LinearGradients linear_backward(const LinearSaved& saved, const at::Tensor& dout,
                                const LinearNeeds& needs) {
  at::Tensor dz = dout;
  const bool activated = saved.activation != LinearActivation::none;
  if (activated || dout.scalar_type() != saved.x.scalar_type()) {
    dz = at::empty(dout.sizes(), saved.x.options());
    LinearSlopeLaunch launch;
    launch.rows = dout.size(0);
    launch.columns = dout.size(1);
    launch.activation = saved.activation;
    launch.dout = matrix_of(dout);
    if (activated) launch.before = matrix_of(saved.before);
    launch.out = matrix_of(dz);
    run_on_stream(kOp, dout, [&](const Stream& stream) { launch_linear_slope(launch, stream); });
  }
  LinearGradients result;
  if (needs.x) result.dx = at::mm(dz, saved.weight.to(saved.x.scalar_type()));
  if (!needs.weight) return result;
  result.dweight = float_product(dz.t(), saved.x);
  result.dbias = dz.sum(0, false, at::kFloat);
  return result;
}

}  // namespace ttt::ops::cuda
