// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/linear.h"

#include "kernels/support/checks.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/torch.h>

namespace ttt::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Products below this many multiplications take longer to set up than to compute.
constexpr std::int64_t kSmallProduct = 1 << 20;

std::int64_t rows_of(const at::Tensor& x) {
  return x.size(-1) == 0 ? 0 : x.numel() / x.size(-1);
}

bool fits_onednn(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const at::ScalarType dtype = x.scalar_type();
  return x.is_cpu() && (dtype == at::kFloat || dtype == at::kBFloat16) &&
         weight.scalar_type() == dtype && (!bias.defined() || bias.scalar_type() == dtype) &&
         x.dim() > 0 && x.size(-1) == weight.size(1) &&
         rows_of(x) * weight.numel() >= kSmallProduct && at::globalContext().userEnabledMkldnn() &&
         at::globalContext().hasMKLDNN() && !at::autocast::is_autocast_enabled(at::kCPU);
}

std::optional<at::Tensor> optional(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

/// x [n, in], weight [out, in], of any strides -> activation(x Wᵀ + b) [n, out], by oneDNN.
at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                   LinearActivation activation = LinearActivation::none) {
  using Signature = at::Tensor(
      const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view,
      c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("mkldnn::_linear_pointwise", "")
                             .typed<Signature>();
  static constexpr std::string_view kNames[] = {"none", "gelu", "swish"};
  return op.call(x, weight, optional(bias), kNames[static_cast<int>(activation)],
                 c10::List<std::optional<at::Scalar>>(), "none");
}

at::Tensor activate(const at::Tensor& y, LinearActivation activation) {
  const bool in_place = !y.requires_grad();
  switch (activation) {
    case LinearActivation::gelu:
      return in_place ? at::gelu_(const_cast<at::Tensor&>(y)) : at::gelu(y);
    case LinearActivation::silu:
      return in_place ? at::silu_(const_cast<at::Tensor&>(y)) : at::silu(y);
    default:
      return y;
  }
}

/// The map of rows with gradients: three products of oneDNN.
struct LinearFunction : Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias) {
    context->save_for_backward({x, weight});
    context->saved_data["bias"] = bias.has_value();
    return product(x, weight, bias.value_or(at::Tensor()));
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &dy = gradients[0], &x = saved[0], &weight = saved[1];
    // A graph of the backward pass needs operations that are recorded.
    const auto times = [](const at::Tensor& a, const at::Tensor& b) {
      return at::GradMode::is_enabled() ? at::mm(a, b) : product(a, b.t(), {});
    };
    at::Tensor dx, dweight, dbias;
    if (context->needs_input_grad(0)) dx = times(dy, weight);
    if (context->needs_input_grad(1)) dweight = times(dy.t(), x);
    if (context->saved_data["bias"].toBool() && context->needs_input_grad(2)) dbias = dy.sum(0);
    return {dx, dweight, dbias};
  }
};

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                  LinearActivation activation) {
  if (!fits_onednn(x, weight, bias)) return activate(at::linear(x, weight, bias), activation);
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = weight.size(0);
  const at::Tensor rows = x.reshape({-1, x.size(-1)});
  if (ops::needs_gradient({x, weight, bias}))
    return activate(LinearFunction::apply(rows, weight, optional(bias)), activation).view(shape);
  return product(rows, weight, bias, activation).view(shape);
}

}  // namespace ttt::layers
