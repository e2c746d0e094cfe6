// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/cuda.h"

#include "kernels/linear/backends.h"
#include "kernels/support/checks.h"
#include "kernels/support/cuda_tensors.h"

#include <ATen/ATen.h>

namespace ttt::ops::cuda {
namespace {

constexpr std::string_view kOp = "linear";

LinearMatrix matrix_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  constexpr std::int64_t kQuad = 4;
  const void* data = tensor.const_data_ptr();
  const auto bytes = static_cast<std::uintptr_t>(kQuad) * tensor.element_size();
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(data) % bytes == 0 && tensor.stride(0) % kQuad == 0;
  return {const_cast<void*>(data), tensor.stride(0), data_type(tensor), aligned};
}

/// A B with float results: rounded to bfloat16, a sum that the bias nearly cancels would lose its
/// sign, and with it the gradient behind a relu. The products are LibTorch's (cuBLAS).
at::Tensor float_product(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() == at::kFloat) return at::mm(a, b);
  if (a.is_cuda()) return at::mm(a, b, at::kFloat);
  return at::mm(a.to(at::kFloat), b.to(at::kFloat));  // emulated
}

}  // namespace

std::vector<at::ScalarType> linear_dtypes() {
  return {at::kFloat, at::kBFloat16};
}

void linear(const LinearRows& rows, const at::Tensor& weight, const LinearTail& tail,
            const at::Tensor& out) {
  const at::Tensor factor = with_contiguous_rows(weight);
  LinearLaunch launch;
  launch.factors = data_type(rows.x);
  launch.rows = out.size(0);
  launch.columns = out.size(1);
  launch.depth = rows.x.size(1);
  launch.x = matrix_of(rows.x);
  launch.weight = matrix_of(factor);
  if (rows.norm.defined()) {
    launch.norm.weight = rows.norm.weight.const_data_ptr<float>();
    if (rows.norm.bias.defined()) launch.norm.bias = rows.norm.bias.const_data_ptr<float>();
    launch.norm.epsilon = static_cast<float>(rows.norm.epsilon);
  }
  launch.activation = tail.activation;
  if (tail.bias.defined()) launch.bias = tail.bias.const_data_ptr<float>();
  launch.before = matrix_of(tail.before);
  launch.residual = matrix_of(tail.residual);
  launch.out = matrix_of(out);
  run_on_stream(kOp, rows.x, [&](const Stream& stream) { launch_linear(launch, stream); });
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
