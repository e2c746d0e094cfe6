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

/// The arguments of the step, checked, as the backends take them.
struct StepArguments {
  Backend backend;
  at::Tensor k, v, w3;
};

StepArguments prepare_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3,
                           Backend requested) {
  check_shape(kOp, "k", k, {-1, -1, -1, -1});
  check_shape(kOp, "v", v, {k.size(0), k.size(1), k.size(2), k.size(3)});
  check_shape(kOp, "w3", w3, {k.size(3), 1, 3, 3});
  check_same_dtype(kOp, "v", v, k);
  const Backend backend = choose(requested, {k, v, w3});
  return {backend, with_contiguous_rows(k), with_contiguous_rows(v), prepared_weight("w3", w3, k)};
}

struct ApplyArguments {
  Backend backend;
  at::Tensor q, kernels;
};

ApplyArguments prepare_apply(const at::Tensor& q, const at::Tensor& kernels, Backend requested) {
  check_shape(kOp, "q", q, {-1, -1, -1, -1});
  check_shape(kOp, "kernels", kernels, {q.size(0), 3, 3, q.size(3)});
  const Backend backend = choose(requested, {q, kernels});
  return {backend, with_contiguous_rows(q), prepared_weight("kernels", kernels, q)};
}

/// The gradient of w3 [d, 1, 3, 3]: the clipped step adds w3 to every sample's kernels.
at::Tensor gradient_of_w3(const at::Tensor& dkernels) {
  return dkernels.sum(0).permute({2, 0, 1}).unsqueeze(1).contiguous();
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
    return {result.dk, result.dv, gradient_of_w3(dkernels), {}};
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
  const StepArguments a = prepare_step(k, v, w3, requested);
  if (needs_gradient({k, v, w3}))
    return StepFunction::apply(a.k, a.v, a.w3, static_cast<std::int64_t>(a.backend));
  return run_step(a.backend, a.k, a.v, a.w3).kernels;
}

DepthwiseStep depthwise_step_forward(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3,
                                     Backend requested) {
  const StepArguments a = prepare_step(k, v, w3, requested);
  return run_step(a.backend, a.k, a.v, a.w3);
}

DepthwiseStepAllGradients depthwise_step_backward(const DepthwiseStepSaved& saved,
                                                  const at::Tensor& dkernels, Backend requested) {
  const StepArguments a = prepare_step(saved.k, saved.v, saved.w3, requested);
  const std::int64_t batch = a.k.size(0), d = a.k.size(3);
  check_shape(kOp, "gradient", saved.gradient, {batch, 3, 3, d});
  check_shape(kOp, "dkernels", dkernels, {batch, 3, 3, d});
  choose(requested, {saved.k, saved.gradient, dkernels});  // all on one device
  const at::Tensor upstream = prepared_weight("dkernels", dkernels, a.k);
  const DepthwiseStepGradients result = run_step_backward(
      a.backend, a.k, a.v, prepared_weight("gradient", saved.gradient, a.k), upstream);
  return {result.dk, result.dv, parameter_gradient(gradient_of_w3(upstream), saved.w3)};
}

at::Tensor depthwise_apply(const at::Tensor& q, const at::Tensor& kernels, Backend requested) {
  const ApplyArguments a = prepare_apply(q, kernels, requested);
  if (needs_gradient({q, kernels}))
    return ApplyFunction::apply(a.q, a.kernels, static_cast<std::int64_t>(a.backend));
  at::Tensor out = at::empty(q.sizes(), q.options());
  run_apply(a.backend, a.q, a.kernels, out);
  return out;
}

DepthwiseApplyGradients depthwise_apply_backward(const at::Tensor& q, const at::Tensor& kernels,
                                                 const at::Tensor& dout, Backend requested) {
  const ApplyArguments a = prepare_apply(q, kernels, requested);
  check_shape(kOp, "dout", dout, {q.size(0), q.size(1), q.size(2), q.size(3)});
  check_same_dtype(kOp, "dout", dout, q);
  choose(requested, {q, dout});  // both on one device
  const DepthwiseApplyGradients result =
      run_apply_backward(a.backend, a.q, a.kernels, with_contiguous_rows(dout));
  return {result.dq, parameter_gradient(result.dkernels, kernels)};
}

void depthwise_apply_out(const at::Tensor& q, const at::Tensor& kernels, const at::Tensor& out,
                         Backend requested) {
  const ApplyArguments a = prepare_apply(q, kernels, requested);
  check_shape(kOp, "out", out, {q.size(0), q.size(1), q.size(2), q.size(3)});
  check_same_dtype(kOp, "out", out, q);
  check_output(kOp, out, {q, kernels});
  check_apart(kOp, out, {q, kernels});
  choose(requested, {q, out});  // both on one device
  run_apply(a.backend, a.q, a.kernels, out);
}

at::Tensor depthwise_conv_weight(const at::Tensor& kernels) {
  check_shape(kOp, "kernels", kernels, {-1, 3, 3, -1});
  return kernels.permute({0, 3, 1, 2}).reshape({kernels.size(0) * kernels.size(3), 1, 3, 3});
}

}  // namespace ttt::ops
