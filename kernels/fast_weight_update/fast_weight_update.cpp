// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/fast_weight_update/fast_weight_update.h"

#include "kernels/fast_weight_update/backends.h"
#include "kernels/support/checks.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace ttt::ops {

const OpSupport& fast_weight_update_support();  // for the registry

namespace {

constexpr std::string_view kOp = "fast_weight_update";

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

at::Tensor run(Backend backend, const at::Tensor& weight, const at::Tensor& step,
               const at::Tensor& norms) {
  switch (backend) {
    case Backend::reference:
      return reference::fast_weight_update(weight, step, norms);
    case Backend::cuda:
      return cuda::fast_weight_update(weight, step, norms);
    default:
      return cpu::fast_weight_update(weight, step, norms);
  }
}

FastWeightUpdateGradients run_backward(Backend backend, const at::Tensor& sum,
                                       const at::Tensor& norms, const at::Tensor& dout) {
  switch (backend) {
    case Backend::reference:
      return reference::fast_weight_update_backward(sum, norms, dout);
    case Backend::cuda:
      return cuda::fast_weight_update_backward(sum, norms, dout);
    default:
      return cpu::fast_weight_update_backward(sum, norms, dout);
  }
}

void check_arguments(const at::Tensor& weight, const at::Tensor& step, const at::Tensor& norms) {
  TTT_CHECK(weight.defined() && weight.dim() >= 2, usage,
            fmt::format("weight is {}, but [..., in, out] is needed", shape_text(weight)),
            std::string(kOp), "pass tensors of the documented shapes");
  TTT_CHECK(step.defined() && step.sizes() == weight.sizes(), usage,
            fmt::format("step is {}, weight {}", shape_text(step), shape_text(weight)),
            std::string(kOp), "pass tensors of the documented shapes");
  std::vector<std::int64_t> row = weight.sizes().vec();
  row[row.size() - 2] = 1;
  TTT_CHECK(norms.defined() && norms.sizes() == at::IntArrayRef(row), usage,
            fmt::format("norms is {}, but {} is needed", shape_text(norms),
                        shape_text(at::IntArrayRef(row))),
            std::string(kOp), "pass tensors of the documented shapes");
}

/// Arguments as the backends take them.
struct Prepared {
  at::Tensor weight, step, norms;
};

Prepared prepared(const at::Tensor& weight, const at::Tensor& step, const at::Tensor& norms) {
  const at::ScalarType dtype = accumulation_dtype(weight.scalar_type());
  const std::int64_t in = weight.size(-2), out = weight.size(-1);
  if (weight.numel() == 0) return {weight.to(dtype), step.to(dtype), norms.to(dtype)};
  return {weight.to(dtype).reshape({-1, in, out}).contiguous(),
          step.to(dtype).reshape({-1, in, out}).contiguous(),
          norms.to(dtype).reshape({-1, out}).contiguous()};
}

struct UpdateFunction : Function<UpdateFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weight,
                            const at::Tensor& step, const at::Tensor& norms, std::int64_t backend) {
    context->save_for_backward({weight, step, norms});
    context->saved_data["backend"] = backend;
    return run(static_cast<Backend>(backend), weight, step, norms);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative(kOp);
    const variable_list saved = context->get_saved_variables();
    const auto backend = static_cast<Backend>(context->saved_data["backend"].toInt());
    const FastWeightUpdateGradients result =
        run_backward(backend, saved[0] + saved[1], saved[2], gradients[0].contiguous());
    return {result.dsum, result.dsum, result.dnorms, {}};
  }
};

}  // namespace

const OpSupport& fast_weight_update_support() {
  static const OpSupport support{
      kOp, {at::kFloat, at::kBFloat16}, cuda::fast_weight_update_dtypes()};
  return support;
}

at::Tensor fast_weight_update(const at::Tensor& weight, const at::Tensor& step,
                              const at::Tensor& norms, Backend requested) {
  check_arguments(weight, step, norms);
  const Backend backend = resolve(fast_weight_update_support(), requested, {weight, step, norms});
  const Prepared a = prepared(weight, step, norms);
  if (weight.numel() == 0) return ((weight + step) * norms).to(a.weight.scalar_type());
  const at::Tensor result =
      needs_gradient({a.weight, a.step, a.norms})
          ? UpdateFunction::apply(a.weight, a.step, a.norms, static_cast<std::int64_t>(backend))
          : run(backend, a.weight, a.step, a.norms);
  return result.view(weight.sizes());
}

FastWeightUpdateArgumentGradients fast_weight_update_backward(const at::Tensor& weight,
                                                              const at::Tensor& step,
                                                              const at::Tensor& norms,
                                                              const at::Tensor& dout,
                                                              Backend requested) {
  check_arguments(weight, step, norms);
  TTT_CHECK(dout.defined() && dout.sizes() == weight.sizes(), usage,
            fmt::format("dout is {}, weight {}", shape_text(dout), shape_text(weight)),
            std::string(kOp), "pass tensors of the documented shapes");
  const Backend backend =
      resolve(fast_weight_update_support(), requested, {weight, step, norms, dout});
  if (weight.numel() == 0)
    return {at::zeros_like(weight), at::zeros_like(step), at::zeros_like(norms)};
  const Prepared a = prepared(weight, step, norms);
  const at::Tensor gradient = dout.to(a.weight.scalar_type()).reshape(a.weight.sizes());
  const FastWeightUpdateGradients result =
      run_backward(backend, a.weight + a.step, a.norms, gradient.contiguous());
  const at::Tensor dsum = result.dsum.view(weight.sizes());
  return {parameter_gradient(dsum, weight), parameter_gradient(dsum, step),
          parameter_gradient(result.dnorms.view(norms.sizes()), norms)};
}

at::Tensor fast_weight_norms(const at::Tensor& weight) {
  return at::linalg_vector_norm(weight, 2, at::IntArrayRef{-2}, true);
}

}  // namespace ttt::ops
