// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ttt_depthwise/ttt_depthwise.h"

#include "kernels/support/checks.h"
#include "kernels/ttt_depthwise/backends.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace ttt::ops {

const OpSupport& ttt_depthwise_support();  // for the registry

namespace {

constexpr std::string_view kOp = "ttt_depthwise";

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

Backend choose(Backend requested, at::TensorList tensors) {
  return resolve(ttt_depthwise_support(), requested, tensors);
}

/// A weight argument as the backends take it: contiguous, accumulation dtype.
at::Tensor prepared_weight(std::string_view name, const at::Tensor& weight, const at::Tensor& x) {
  return to_accumulation_dtype(kOp, name, weight, x).contiguous();
}

DepthwiseStep run_step(Backend backend, const at::Tensor& k, const at::Tensor& v,
                       const at::Tensor& w3) {
  switch (backend) {
    case Backend::reference:
      return reference::depthwise_step(k, v, w3);
    case Backend::cuda:
      return cuda::depthwise_step(k, v, w3);
    default:
      return cpu::depthwise_step(k, v, w3);
  }
}

DepthwiseStepGradients run_step_backward(Backend backend, const at::Tensor& k, const at::Tensor& v,
                                         const at::Tensor& gradient, const at::Tensor& dkernels) {
  switch (backend) {
    case Backend::reference:
      return reference::depthwise_step_backward(k, v, gradient, dkernels);
    case Backend::cuda:
      return cuda::depthwise_step_backward(k, v, gradient, dkernels);
    default:
      return cpu::depthwise_step_backward(k, v, gradient, dkernels);
  }
}

void run_apply(Backend backend, const at::Tensor& q, const at::Tensor& kernels,
               const at::Tensor& out) {
  switch (backend) {
    case Backend::reference:
      return reference::depthwise_apply(q, kernels, out);
    case Backend::cuda:
      return cuda::depthwise_apply(q, kernels, out);
    default:
      return cpu::depthwise_apply(q, kernels, out);
  }
}

DepthwiseApplyGradients run_apply_backward(Backend backend, const at::Tensor& q,
                                           const at::Tensor& kernels, const at::Tensor& dout) {
  switch (backend) {
    case Backend::reference:
      return reference::depthwise_apply_backward(q, kernels, dout);
    case Backend::cuda:
      return cuda::depthwise_apply_backward(q, kernels, dout);
    default:
      return cpu::depthwise_apply_backward(q, kernels, dout);
  }
}

struct StepFunction : Function<StepFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& w3, std::int64_t backend) {
    const DepthwiseStep step = run_step(static_cast<Backend>(backend), k, v, w3);
    context->save_for_backward({k, v, step.gradient});
    context->saved_data["backend"] = backend;
    return step.kernels;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative(kOp);
    const variable_list saved = context->get_saved_variables();
    const auto backend = static_cast<Backend>(context->saved_data["backend"].toInt());
    const at::Tensor dkernels = gradients[0].contiguous();
    const DepthwiseStepGradients result =
        run_step_backward(backend, saved[0], saved[1], saved[2], dkernels);
    const at::Tensor dw3 = dkernels.sum(0).permute({2, 0, 1}).unsqueeze(1);  // [d, 1, 3, 3]
    return {result.dk, result.dv, dw3.contiguous(), {}};
  }
};

struct ApplyFunction : Function<ApplyFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q,
                            const at::Tensor& kernels, std::int64_t backend) {
    at::Tensor out = at::empty(q.sizes(), q.options());
    run_apply(static_cast<Backend>(backend), q, kernels, out);
    context->save_for_backward({q, kernels});
    context->saved_data["backend"] = backend;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative(kOp);
    const variable_list saved = context->get_saved_variables();
    const auto backend = static_cast<Backend>(context->saved_data["backend"].toInt());
    const DepthwiseApplyGradients result =
        run_apply_backward(backend, saved[0], saved[1], with_contiguous_rows(gradients[0]));
    return {result.dq, result.dkernels, {}};
  }
};

}  // namespace

const OpSupport& ttt_depthwise_support() {
  static const OpSupport support{kOp, {at::kFloat, at::kBFloat16}, cuda::depthwise_dtypes()};
  return support;
}

at::Tensor depthwise_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3,
                          Backend requested) {
  check_shape(kOp, "k", k, {-1, -1, -1, -1});
  check_shape(kOp, "v", v, {k.size(0), k.size(1), k.size(2), k.size(3)});
  check_shape(kOp, "w3", w3, {k.size(3), 1, 3, 3});
  check_same_dtype(kOp, "v", v, k);
  const Backend backend = choose(requested, {k, v, w3});
  const at::Tensor keys = with_contiguous_rows(k), values = with_contiguous_rows(v);
  const at::Tensor weight = prepared_weight("w3", w3, k);
  if (needs_gradient({k, v, w3}))
    return StepFunction::apply(keys, values, weight, static_cast<std::int64_t>(backend));
  return run_step(backend, keys, values, weight).kernels;
}

at::Tensor depthwise_apply(const at::Tensor& q, const at::Tensor& kernels, Backend requested) {
  check_shape(kOp, "q", q, {-1, -1, -1, -1});
  check_shape(kOp, "kernels", kernels, {q.size(0), 3, 3, q.size(3)});
  const Backend backend = choose(requested, {q, kernels});
  const at::Tensor queries = with_contiguous_rows(q);
  const at::Tensor weight = prepared_weight("kernels", kernels, q);
  if (needs_gradient({q, weight}))
    return ApplyFunction::apply(queries, weight, static_cast<std::int64_t>(backend));
  at::Tensor out = at::empty(q.sizes(), q.options());
  run_apply(backend, queries, weight, out);
  return out;
}

void depthwise_apply_out(const at::Tensor& q, const at::Tensor& kernels, const at::Tensor& out,
                         Backend requested) {
  check_shape(kOp, "q", q, {-1, -1, -1, -1});
  check_shape(kOp, "kernels", kernels, {q.size(0), 3, 3, q.size(3)});
  check_shape(kOp, "out", out, {q.size(0), q.size(1), q.size(2), q.size(3)});
  check_same_dtype(kOp, "out", out, q);
  check_output(kOp, out, {q, kernels});
  const Backend backend = choose(requested, {q, kernels, out});
  run_apply(backend, with_contiguous_rows(q), prepared_weight("kernels", kernels, q), out);
}

at::Tensor depthwise_conv_weight(const at::Tensor& kernels) {
  check_shape(kOp, "kernels", kernels, {-1, 3, 3, -1});
  return kernels.permute({0, 3, 1, 2}).reshape({kernels.size(0) * kernels.size(3), 1, 3, 3});
}

}  // namespace ttt::ops
