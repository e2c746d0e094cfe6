// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ttt_gated_linear/ttt_gated_linear.h"

#include "kernels/rope_2d/backends.h"
#include "kernels/support/checks.h"
#include "kernels/ttt_gated_linear/backends.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

namespace ttt::ops {

const OpSupport& ttt_gated_linear_support();  // for the registry

namespace {

constexpr std::string_view kOp = "ttt_gated_linear";

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

Backend choose(Backend requested, at::TensorList tensors) {
  return resolve(ttt_gated_linear_support(), requested, tensors);
}

/// A weight argument as the backends take it: accumulation dtype, batch B (stride 0 if shared).
at::Tensor prepared_weight(std::string_view name, const at::Tensor& weight, const at::Tensor& x) {
  check_shape(kOp, name, weight, {-1, -1, -1, -1});
  const std::int64_t batch = weight.size(0), heads = weight.size(1), d = weight.size(2);
  TTT_CHECK(weight.size(3) == d && heads * d == x.size(2) && (batch == 1 || batch == x.size(0)),
            usage,
            fmt::format("{} is {}, which doesn't fit activations of {}", name, shape_text(weight),
                        shape_text(x)),
            std::string(kOp), "pass weights [1 or B, heads, d, d] with heads * d channels");
  at::Tensor result = to_accumulation_dtype(kOp, name, weight, x).contiguous();
  return batch == x.size(0) ? result : result.expand({x.size(0), heads, d, d});
}

/// What the backends rotate x by while they read it, or nothing.
using Rotation = std::optional<RopeTable>;

/// Checks a table for x. Backends take heads of whole pairs of channels; else x is rotated here.
Rotation prepared_rotation(const RopeTable* rope, at::Tensor& x, std::int64_t d, Backend backend) {
  if (rope == nullptr) return std::nullopt;
  check_rope_table(kOp, x, *rope);
  choose(backend, {x, rope->row_cos, rope->row_sin, rope->column_cos, rope->column_sin});
  if (d % 2 == 0) return *rope;
  x = rope_2d(x, *rope, backend);
  return std::nullopt;
}

const RopeTable* pointer(const Rotation& rotation) {
  return rotation ? &*rotation : nullptr;
}

/// Appends the table to what a Function saves.
void save(variable_list& saved, const Rotation& rotation) {
  if (!rotation) return;
  saved.insert(saved.end(),
               {rotation->row_cos, rotation->row_sin, rotation->column_cos, rotation->column_sin});
}
/// What save() appended behind `count` other tensors.
Rotation saved_rotation(const variable_list& saved, std::size_t count) {
  if (saved.size() == count) return std::nullopt;
  return RopeTable{saved[count], saved[count + 1], saved[count + 2], saved[count + 3]};
}

/// The arguments of the step, checked, as the backends take them.
struct StepArguments {
  Backend backend;
  at::Tensor k, v, w1, w2;
  Rotation rotation;
};

StepArguments prepare_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w1,
                           const at::Tensor& w2, const RopeTable* rope, Backend requested) {
  check_shape(kOp, "k", k, {-1, -1, -1});
  check_shape(kOp, "v", v, {k.size(0), k.size(1), k.size(2)});
  check_same_dtype(kOp, "v", v, k);
  const Backend backend = choose(requested, {k, v, w1, w2});
  StepArguments result{backend,
                       with_contiguous_rows(k),
                       with_contiguous_rows(v),
                       prepared_weight("w1", w1, k),
                       prepared_weight("w2", w2, k),
                       {}};
  check_shape(kOp, "w2", result.w2,
              {result.w1.size(0), result.w1.size(1), result.w1.size(2), result.w1.size(3)});
  result.rotation = prepared_rotation(rope, result.k, result.w1.size(2), backend);
  return result;
}

struct ApplyArguments {
  Backend backend;
  at::Tensor q;
  InnerWeights weights;
  Rotation rotation;
};

ApplyArguments prepare_apply(const at::Tensor& q, const InnerWeights& weights,
                             const RopeTable* rope, Backend requested) {
  check_shape(kOp, "q", q, {-1, -1, -1});
  const Backend backend = choose(requested, {q, weights.w1, weights.w2});
  const at::Tensor w1 = prepared_weight("w1", weights.w1, q);
  const at::Tensor w2 = prepared_weight("w2", weights.w2, q);
  check_shape(kOp, "w2", w2, {w1.size(0), w1.size(1), w1.size(2), w1.size(3)});
  ApplyArguments result{backend, with_contiguous_rows(q), {w1, w2}, {}};
  result.rotation = prepared_rotation(rope, result.q, w1.size(2), backend);
  return result;
}

/// One matrix a sample and head, as the backends take it.
at::Tensor prepared_matrices(std::string_view name, const at::Tensor& matrices,
                             const StepArguments& arguments) {
  const at::Tensor& w = arguments.w1;
  check_shape(kOp, name, matrices, {w.size(0), w.size(1), w.size(2), w.size(3)});
  return to_accumulation_dtype(kOp, name, matrices, arguments.k).contiguous();
}

GatedLinearStep run_step(const StepArguments& a) {
  const RopeTable* rope = pointer(a.rotation);
  switch (a.backend) {
    case Backend::reference:
      return reference::gated_linear_step(a.k, a.v, a.w1, a.w2, rope);
    case Backend::cuda:
      return cuda::gated_linear_step(a.k, a.v, a.w1, a.w2, rope);
    default:
      return cpu::gated_linear_step(a.k, a.v, a.w1, a.w2, rope);
  }
}

GatedLinearStepGradients run_step_backward(Backend backend, const GatedLinearStepSaved& saved,
                                           const at::Tensor& dw1, const at::Tensor& dw2) {
  switch (backend) {
    case Backend::reference:
      return reference::gated_linear_step_backward(saved, dw1, dw2);
    case Backend::cuda:
      return cuda::gated_linear_step_backward(saved, dw1, dw2);
    default:
      return cpu::gated_linear_step_backward(saved, dw1, dw2);
  }
}

void run_apply(const ApplyArguments& a, const at::Tensor& out) {
  const RopeTable* rope = pointer(a.rotation);
  switch (a.backend) {
    case Backend::reference:
      return reference::gated_linear_apply(a.q, a.weights.w1, a.weights.w2, rope, out);
    case Backend::cuda:
      return cuda::gated_linear_apply(a.q, a.weights.w1, a.weights.w2, rope, out);
    default:
      return cpu::gated_linear_apply(a.q, a.weights.w1, a.weights.w2, rope, out);
  }
}

GatedLinearApplyGradients run_apply_backward(const ApplyArguments& a, const at::Tensor& dout) {
  const RopeTable* rope = pointer(a.rotation);
  switch (a.backend) {
    case Backend::reference:
      return reference::gated_linear_apply_backward(a.q, a.weights.w1, a.weights.w2, dout, rope);
    case Backend::cuda:
      return cuda::gated_linear_apply_backward(a.q, a.weights.w1, a.weights.w2, dout, rope);
    default:
      return cpu::gated_linear_apply_backward(a.q, a.weights.w1, a.weights.w2, dout, rope);
  }
}

struct StepFunction : Function<StepFunction> {
  static variable_list forward(AutogradContext* context, const at::Tensor& k, const at::Tensor& v,
                               const at::Tensor& w1, const at::Tensor& w2, Backend backend,
                               const Rotation& rotation) {
    const GatedLinearStep step = run_step({backend, k, v, w1, w2, rotation});
    variable_list saved{k, v, w1, w2, step.g1, step.g2};
    save(saved, rotation);
    context->save_for_backward(std::move(saved));
    context->saved_data["backend"] = static_cast<std::int64_t>(backend);
    return {step.w1, step.w2};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative(kOp);
    const variable_list saved = context->get_saved_variables();
    const auto backend = static_cast<Backend>(context->saved_data["backend"].toInt());
    const Rotation rotation = saved_rotation(saved, 6);
    const GatedLinearStepSaved inputs{saved[0], saved[1], saved[2],         saved[3],
                                      saved[4], saved[5], pointer(rotation)};
    const GatedLinearStepGradients result =
        run_step_backward(backend, inputs, gradients[0].contiguous(), gradients[1].contiguous());
    return {result.dk, result.dv, result.dw1, result.dw2, {}, {}};
  }
};

struct ApplyFunction : Function<ApplyFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& w1,
                            const at::Tensor& w2, Backend backend, const Rotation& rotation) {
    at::Tensor out = at::empty(q.sizes(), q.options());
    run_apply({backend, q, {w1, w2}, rotation}, out);
    variable_list saved{q, w1, w2};
    save(saved, rotation);
    context->save_for_backward(std::move(saved));
    context->saved_data["backend"] = static_cast<std::int64_t>(backend);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative(kOp);
    const variable_list saved = context->get_saved_variables();
    const auto backend = static_cast<Backend>(context->saved_data["backend"].toInt());
    const GatedLinearApplyGradients result =
        run_apply_backward({backend, saved[0], {saved[1], saved[2]}, saved_rotation(saved, 3)},
                           with_contiguous_rows(gradients[0]));
    return {result.dq, result.dw1, result.dw2, {}, {}};
  }
};

}  // namespace

const OpSupport& ttt_gated_linear_support() {
  static const OpSupport support{kOp, {at::kFloat, at::kBFloat16}, cuda::gated_linear_dtypes()};
  return support;
}

InnerWeights gated_linear_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w1,
                               const at::Tensor& w2, Backend requested, const RopeTable* rope) {
  const StepArguments a = prepare_step(k, v, w1, w2, rope, requested);
  if (!needs_gradient({k, v, w1, w2})) {
    GatedLinearStep step = run_step(a);
    return {std::move(step.w1), std::move(step.w2)};
  }
  const variable_list outputs = StepFunction::apply(a.k, a.v, a.w1, a.w2, a.backend, a.rotation);
  return {outputs[0], outputs[1]};
}

GatedLinearStep gated_linear_step_forward(const at::Tensor& k, const at::Tensor& v,
                                          const at::Tensor& w1, const at::Tensor& w2,
                                          Backend requested) {
  return run_step(prepare_step(k, v, w1, w2, nullptr, requested));
}

GatedLinearStepGradients gated_linear_step_backward(const GatedLinearStepSaved& saved,
                                                    const at::Tensor& dw1, const at::Tensor& dw2,
                                                    Backend requested) {
  const StepArguments a = prepare_step(saved.k, saved.v, saved.w1, saved.w2, nullptr, requested);
  const GatedLinearStepSaved prepared{a.k,
                                      a.v,
                                      a.w1,
                                      a.w2,
                                      prepared_matrices("g1", saved.g1, a),
                                      prepared_matrices("g2", saved.g2, a)};
  choose(requested, {saved.k, saved.g1, saved.g2, dw1, dw2});  // all on one device
  const GatedLinearStepGradients result = run_step_backward(
      a.backend, prepared, prepared_matrices("dw1", dw1, a), prepared_matrices("dw2", dw2, a));
  return {result.dk, result.dv, parameter_gradient(result.dw1, saved.w1),
          parameter_gradient(result.dw2, saved.w2)};
}

at::Tensor gated_linear_apply(const at::Tensor& q, const InnerWeights& weights, Backend requested,
                              const RopeTable* rope) {
  const ApplyArguments a = prepare_apply(q, weights, rope, requested);
  if (needs_gradient({q, weights.w1, weights.w2}))
    return ApplyFunction::apply(a.q, a.weights.w1, a.weights.w2, a.backend, a.rotation);
  at::Tensor out = at::empty(q.sizes(), q.options());
  run_apply(a, out);
  return out;
}

GatedLinearApplyGradients gated_linear_apply_backward(const at::Tensor& q,
                                                      const InnerWeights& weights,
                                                      const at::Tensor& dout, Backend requested) {
  const ApplyArguments a = prepare_apply(q, weights, nullptr, requested);
  check_shape(kOp, "dout", dout, {q.size(0), q.size(1), q.size(2)});
  check_same_dtype(kOp, "dout", dout, q);
  choose(requested, {q, dout});  // both on one device
  const GatedLinearApplyGradients result = run_apply_backward(a, with_contiguous_rows(dout));
  return {result.dq, parameter_gradient(result.dw1, weights.w1),
          parameter_gradient(result.dw2, weights.w2)};
}

void gated_linear_apply_out(const at::Tensor& q, const InnerWeights& weights, const at::Tensor& out,
                            Backend requested, const RopeTable* rope) {
  const ApplyArguments a = prepare_apply(q, weights, rope, requested);
  check_shape(kOp, "out", out, {q.size(0), q.size(1), q.size(2)});
  check_same_dtype(kOp, "out", out, q);
  check_output(kOp, out, {q, weights.w1, weights.w2});
  choose(requested, {q, out});  // both on one device
  check_apart(kOp, out, {weights.w1, weights.w2});
  if (a.backend == Backend::cuda || !same_places(out, q)) check_apart(kOp, out, {q});
  run_apply(a, out);
}

}  // namespace ttt::ops
