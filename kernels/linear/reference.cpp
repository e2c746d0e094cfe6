// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/backends.h"

#include <ATen/ATen.h>

#include <cmath>

namespace ttt::ops::reference {
namespace {

constexpr double kTanhFactor = 0.79788456080286535588;  // sqrt(2 / pi)
constexpr double kTanhCubic = 0.044715;

at::Tensor in_double(const at::Tensor& tensor) {
  return tensor.to(at::kDouble);
}

double activate(double z, LinearActivation activation) {
  switch (activation) {
    case LinearActivation::relu:
      return z < 0 ? 0 : z;  // keeps NaN
    case LinearActivation::gelu:
      return 0.5 * z * (1 + std::erf(z / std::sqrt(2.0)));
    case LinearActivation::gelu_tanh:
      return 0.5 * z * (1 + std::tanh(kTanhFactor * (z + kTanhCubic * z * z * z)));
    case LinearActivation::silu:
      return z / (1 + std::exp(-z));
    case LinearActivation::none:
      break;
  }
  return z;
}

double slope(double z, LinearActivation activation) {
  constexpr double kInverseSqrtTwoPi = 0.39894228040143267794;
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  switch (activation) {
    case LinearActivation::relu:
      return z <= 0 ? 0 : 1;
    case LinearActivation::gelu:
      return 0.5 * (1 + std::erf(z / std::sqrt(2.0))) +
             z * kInverseSqrtTwoPi * std::exp(-0.5 * z * z);
    case LinearActivation::gelu_tanh: {
      const double t = std::tanh(kTanhFactor * (z + kTanhCubic * z * z * z));
      return 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * kTanhFactor * (1 + 3 * kTanhCubic * z * z);
    }
    case LinearActivation::silu:
      return sigmoid(z) * (1 + z * (1 - sigmoid(z)));
    case LinearActivation::none:
      break;
  }
  return 1;
}

/// f of every element, in place. z is contiguous.
template <typename F>
void for_each(const at::Tensor& z, const F& f) {
  double* values = z.data_ptr<double>();
  for (std::int64_t i = 0; i < z.numel(); ++i) values[i] = f(values[i]);
}

/// The rows in double.
at::Tensor normalised(const LinearRows& rows) {
  const at::Tensor x = in_double(rows.x);
  if (!rows.norm.defined()) return x;
  const at::Tensor centred = x - x.mean(1, true);
  const at::Tensor variance = centred.square().mean(1, true);
  const at::Tensor y =
      centred / (variance + rows.norm.epsilon).sqrt() * in_double(rows.norm.weight);
  return rows.norm.bias.defined() ? y + in_double(rows.norm.bias) : y;
}

}  // namespace

void linear(const LinearRows& rows, const at::Tensor& weight, const LinearTail& tail,
            const at::Tensor& out) {
  at::Tensor z = at::matmul(normalised(rows), in_double(weight).t()).contiguous();
  if (tail.bias.defined()) z.add_(in_double(tail.bias));
  if (tail.before.defined()) at::Tensor(tail.before).copy_(z);
  if (tail.activation != LinearActivation::none)
    for_each(z, [&](double value) { return activate(value, tail.activation); });
  if (tail.residual.defined()) z.add_(in_double(tail.residual));
  at::Tensor(out).copy_(z);
}

LinearGradients linear_backward(const LinearSaved& saved, const at::Tensor& dout,
                                const LinearNeeds& needs) {
  const at::Tensor xd = in_double(saved.x), weightd = in_double(saved.weight);
  at::Tensor dz = in_double(dout);
  if (saved.activation != LinearActivation::none) {
    at::Tensor factor = in_double(saved.before).clone(at::MemoryFormat::Contiguous);
    for_each(factor, [&](double value) { return slope(value, saved.activation); });
    dz = dz * factor;
  }
  const auto sums = saved.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  LinearGradients result;
  if (needs.x) result.dx = at::matmul(dz, weightd).to(saved.x.scalar_type());
  if (!needs.weight) return result;
  result.dweight = at::matmul(dz.t(), xd).to(sums);
  result.dbias = dz.sum(0).to(sums);
  return result;
}

}  // namespace ttt::ops::reference
