// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/linear.h"

#include "kernels/linear/arguments.h"
#include "kernels/linear/backends.h"
#include "kernels/support/packed.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

namespace ttt::ops {

namespace {

constexpr std::string_view kOp = kLinear;

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

void run(Backend backend, const LinearRows& rows, const at::Tensor& weight, const LinearTail& tail,
         const at::Tensor& out) {
  switch (backend) {
    case Backend::reference:
      return reference::linear(rows, weight, tail, out);
    case Backend::cuda:
      return cuda::linear(rows, weight, tail, out);
    default:
      return cpu::linear(rows, weight, tail, out);
  }
}

LinearGradients run_backward(Backend backend, const LinearSaved& saved, const at::Tensor& dout,
                             const LinearNeeds& needs) {
  switch (backend) {
    case Backend::reference:
      return reference::linear_backward(saved, dout, needs);
    case Backend::cuda:
      return cuda::linear_backward(saved, dout, needs);
    default:
      return cpu::linear_backward(saved, dout, needs);
  }
}

LinearRows prepared_rows(const at::Tensor& x, const LinearNorm& norm) {
  LinearRows rows{as_rows(x), norm};
  if (!norm.defined()) return rows;
  rows.norm.weight = to_accumulation_dtype(kOp, "norm weight", norm.weight, x).contiguous();
  if (norm.bias.defined())
    rows.norm.bias = to_accumulation_dtype(kOp, "norm bias", norm.bias, x).contiguous();
  return rows;
}

/// The op on checked arguments of any leading shape. `before` takes x Wt + b if it is given.
at::Tensor forward(Backend backend, const at::Tensor& x, const at::Tensor& weight,
                   const at::Tensor& bias, const LinearFusion& fusion, at::Tensor* before) {
  const LinearRows rows = prepared_rows(x, fusion.norm);
  const std::int64_t count = rows.x.size(0);
  const at::Tensor out =
      at::empty({count, weight.size(0)}, x.options().dtype(result_dtype(x, fusion)));
  LinearTail tail{prepared_bias(bias, x), fusion.activation, {}, {}};
  if (fusion.residual.defined()) tail.residual = as_rows(fusion.residual);
  if (before != nullptr) {
    const bool kept = fusion.activation != LinearActivation::none;
    *before = at::empty({kept ? count : 0, weight.size(0)}, x.options());
    if (kept) tail.before = *before;
  }
  run(backend, rows, weight, tail, out);
  return out.view(result_shape(x, weight.size(0)));
}

LinearGradients backward(Backend backend, const LinearSaved& saved, const at::Tensor& dout,
                         const LinearNeeds& needs) {
  LinearGradients result =
      run_backward(backend, {as_rows(saved.x), saved.weight, saved.before, saved.activation},
                   as_rows(dout), needs);
  if (result.dx.defined()) result.dx = result.dx.view(saved.x.sizes());
  return result;
}

struct LinearFunction : Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            const std::optional<at::Tensor>& residual, std::int64_t activation,
                            std::int64_t backend) {
    const LinearFusion fusion{static_cast<LinearActivation>(activation),
                              residual.value_or(at::Tensor())};
    at::Tensor before;
    at::Tensor out = ops::forward(static_cast<Backend>(backend), x, weight,
                                  bias.value_or(at::Tensor()), fusion, &before);
    context->save_for_backward({x, weight, before});
    context->saved_data["activation"] = activation;
    context->saved_data["backend"] = backend;
    context->saved_data["bias"] =
        bias ? static_cast<std::int64_t>(bias->scalar_type()) : std::int64_t{-1};
    context->saved_data["residual"] = residual.has_value();
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative(kOp);
    const variable_list saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const std::int64_t bias = data["bias"].toInt();
    const bool needs_bias = bias >= 0 && context->needs_input_grad(2);
    const LinearNeeds needs{context->needs_input_grad(0),
                            context->needs_input_grad(1) || needs_bias};
    const LinearGradients result = ops::backward(
        static_cast<Backend>(data["backend"].toInt()),
        {saved[0], saved[1], saved[2], static_cast<LinearActivation>(data["activation"].toInt())},
        gradients[0], needs);
    variable_list results(6);  // none for activation and backend
    results[0] = result.dx;
    if (result.dweight.defined()) results[1] = result.dweight.to(saved[1].scalar_type());
    if (needs_bias) results[2] = result.dbias.to(static_cast<at::ScalarType>(bias));
    if (data["residual"].toBool()) results[3] = gradients[0];
    return results;
  }
};

/// The norm is an operation of its own where gradients are recorded, and under autocast, which
/// computes norms in another dtype than products.
bool norms_apart(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                 const LinearFusion& fusion) {
  if (!fusion.norm.defined() || !x.defined()) return false;
  return at::autocast::is_autocast_enabled(x.device().type()) ||
         needs_gradient({x, weight, bias, fusion.residual, fusion.norm.weight, fusion.norm.bias});
}

/// For the reference in double: LibTorch's sums the weight's gradient in a narrow x's type.
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const LinearNorm& norm,
                      Backend requested) {
  check_parameters(weight, {});
  check_input(x, weight.size(1));
  check_norm(weight.size(1), norm);
  if (requested != Backend::reference)
    return at::layer_norm(x, {weight.size(1)}, norm.weight, norm.bias, norm.epsilon);
  const at::Tensor bias = norm.bias.defined() ? norm.bias.to(at::kDouble) : norm.bias;
  return at::layer_norm(x.to(at::kDouble), {weight.size(1)}, norm.weight.to(at::kDouble), bias,
                        norm.epsilon)
      .to(x.scalar_type());
}

/// The op with packed parameters, on checked arguments; `out` is [rows, out].
void run_packed(Backend backend, const at::Tensor& x, const PackedLinear& map,
                const LinearFusion& fusion, const at::Tensor& out) {
  LinearTail tail{map.bias(), fusion.activation, {}, {}};
  if (fusion.residual.defined()) tail.residual = as_rows(fusion.residual);
  if (backend == Backend::cpu && cpu::fits_linear(map.panels(), map.dtype()))
    return cpu::linear_packed(prepared_rows(x, fusion.norm), map.panels(), tail, out);
  run(backend, prepared_rows(x, fusion.norm), map.weight(), tail, out);
}

Backend prepare_packed(const at::Tensor& x, const PackedLinear& map, const LinearFusion& fusion,
                       Backend requested) {
  check_packed_defined(kOp, map.defined());
  check_input(x, map.in());
  check_residual(x, map.out(), fusion.residual);
  check_norm(map.in(), fusion.norm);
  check_packed_use(kOp, map.dtype(), x, {x, fusion.residual, fusion.norm.weight, fusion.norm.bias});
  return resolve(
      linear_support(), requested,
      {x, map.weight(), map.bias(), fusion.residual, fusion.norm.weight, fusion.norm.bias});
}

/// Whether both have their elements in the same places.
bool same_places(const at::Tensor& a, const at::Tensor& b) {
  if (a.const_data_ptr() != b.const_data_ptr() || a.sizes() != b.sizes()) return false;
  for (std::int64_t i = 0; i < a.dim(); ++i)
    if (a.size(i) > 1 && a.stride(i) != b.stride(i)) return false;
  return true;
}

/// A given output as [rows, out], checked.
at::Tensor output_rows(const at::Tensor& x, std::int64_t columns, const LinearFusion& fusion,
                       const at::Tensor& out, Backend requested) {
  TTT_CHECK(out.defined() && out.scalar_type() == result_dtype(x, fusion), usage,
            "the output has not the result's dtype", std::string(kOp),
            "pass an output in the dtype of x, or of the residual");
  check_like_result("out", out, x, columns);
  check_output(kOp, out, {x});
  check_apart(kOp, out, {x, fusion.norm.weight, fusion.norm.bias});
  if (fusion.residual.defined() && !same_places(out, fusion.residual))
    check_apart(kOp, out, {fusion.residual});
  resolve(linear_support(), requested, {x, out});  // both on one device
  at::Tensor rows = as_rows(out);
  TTT_CHECK(rows.is_alias_of(out), usage, "the output's rows are not evenly spaced",
            std::string(kOp), "pass an output whose leading dimensions can be flattened");
  return rows;
}

}  // namespace

const OpSupport& linear_support() {
  static const OpSupport support{kOp, {at::kFloat, at::kBFloat16}, cuda::linear_dtypes()};
  return support;
}

at::Tensor linear(const at::Tensor& given, const at::Tensor& weight, const at::Tensor& bias,
                  const LinearFusion& fusion, Backend requested) {
  if (norms_apart(given, weight, bias, fusion))
    return linear(layer_norm(given, weight, fusion.norm, requested), weight, bias,
                  {fusion.activation, fusion.residual}, requested);
  const at::Tensor x = linear_autocast(given);
  const Backend backend = prepare_linear(x, weight, bias, fusion, requested);
  if (needs_gradient({x, weight, bias, fusion.residual}))
    return LinearFunction::apply(x, weight, as_optional(bias), as_optional(fusion.residual),
                                 static_cast<std::int64_t>(fusion.activation),
                                 static_cast<std::int64_t>(backend));
  return forward(backend, x, weight, bias, fusion, nullptr);
}

std::pair<at::Tensor, at::Tensor> linear_forward(const at::Tensor& x, const at::Tensor& weight,
                                                 const at::Tensor& bias, const LinearFusion& fusion,
                                                 Backend requested) {
  at::Tensor before;
  const Backend backend = prepare_linear(x, weight, bias, fusion, requested);
  at::Tensor out = forward(backend, x, weight, bias, fusion, &before);
  return {out, before};
}

LinearGradients linear_backward(const LinearSaved& saved, const at::Tensor& dout,
                                Backend requested) {
  const Backend backend = prepare_linear(saved.x, saved.weight, {}, {}, requested);
  check_like_result("dout", dout, saved.x, saved.weight.size(0));
  LinearSaved given{saved.x, saved.weight, {}, saved.activation};
  if (saved.activation != LinearActivation::none) {
    check_shape(kOp, "before", saved.before, {row_count(saved.x), saved.weight.size(0)});
    check_same_dtype(kOp, "before", saved.before, saved.x);
    given.before = with_contiguous_rows(saved.before);
  }
  resolve(linear_support(), requested, {saved.x, dout, given.before});  // all on one device
  LinearGradients result = backward(backend, given, dout, {});
  result.dweight = parameter_gradient(result.dweight, saved.weight);
  result.dbias = result.dbias.to(saved.weight.scalar_type());
  return result;
}

PackedLinear::PackedLinear(const at::Tensor& weight, const at::Tensor& bias, at::ScalarType dtype)
    : dtype_(dtype) {
  const at::NoGradGuard no_grad;
  check_parameters(weight, bias);
  weight_ = weight.detach().to(dtype);
  if (bias.defined()) bias_ = bias.detach().to(accumulation_dtype(dtype)).contiguous();
  if (weight_.is_cpu() && (dtype == at::kFloat || dtype == at::kBFloat16))
    panels_ = cpu::pack_linear(weight_, dtype);
}

at::Tensor linear(const at::Tensor& x, const PackedLinear& map, const LinearFusion& fusion,
                  Backend requested) {
  const Backend backend = prepare_packed(x, map, fusion, requested);
  const at::Tensor out =
      at::empty(result_shape(x, map.out()), x.options().dtype(result_dtype(x, fusion)));
  run_packed(backend, x, map, fusion, as_rows(out));
  return out;
}

void linear_out(const at::Tensor& x, const PackedLinear& map, const LinearFusion& fusion,
                const at::Tensor& out, Backend requested) {
  const Backend backend = prepare_packed(x, map, fusion, requested);
  run_packed(backend, x, map, fusion, output_rows(x, map.out(), fusion, out, requested));
}

void linear_out(const at::Tensor& x, const at::Tensor& weight, const LinearFusion& fusion,
                const at::Tensor& out, Backend requested) {
  const Backend backend = prepare_linear(x, weight, {}, fusion, requested);
  check_output(kOp, out, {x, weight, fusion.residual, fusion.norm.weight, fusion.norm.bias});
  check_apart(kOp, out, {weight});
  const at::Tensor rows = output_rows(x, weight.size(0), fusion, out, requested);
  LinearTail tail{{}, fusion.activation, {}, {}};
  if (fusion.residual.defined()) tail.residual = as_rows(fusion.residual);
  run(backend, prepared_rows(x, fusion.norm), weight, tail, rows);
}

}  // namespace ttt::ops
