// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/swiglu_fast_weights/swiglu_fast_weights.h"

#include "kernels/support/checks.h"
#include "kernels/swiglu_fast_weights/backends.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace ttt::ops {

const OpSupport& swiglu_fast_weights_support();  // for the registry

namespace {

constexpr std::string_view kOp = "swiglu_fast_weights";

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

/// Checks the three shapes against each other and the activations; the weights come back as the
/// backends take them: accumulation dtype, contiguous per matrix, batch B (stride 0 if shared).
SwigluMatrices prepared_weights(const SwigluMatrices& weights, const at::Tensor& x) {
  check_shape(kOp, "w0", weights.w0, {-1, -1, -1, -1});
  const std::int64_t batch = weights.w0.size(0), heads = weights.w0.size(1);
  const std::int64_t width = weights.w0.size(2), hidden = weights.w0.size(3);
  check_shape(kOp, "w1", weights.w1, {batch, heads, hidden, width});
  check_shape(kOp, "w2", weights.w2, {batch, heads, width, hidden});
  TTT_CHECK(
      heads * width == x.size(2) && width > 0 && hidden > 0 && (batch == 1 || batch == x.size(0)),
      usage,
      fmt::format("w0 is {}, which doesn't fit activations of {}", shape_text(weights.w0),
                  shape_text(x)),
      std::string(kOp), "pass weights [1 or B, heads, D, h] with heads * D channels");
  const auto prepared = [&](std::string_view name, const at::Tensor& weight) {
    const at::Tensor result = to_accumulation_dtype(kOp, name, weight, x).contiguous();
    return batch == x.size(0) ? result
                              : result.expand({x.size(0), heads, weight.size(2), weight.size(3)});
  };
  return {prepared("w0", weights.w0), prepared("w1", weights.w1), prepared("w2", weights.w2)};
}

/// Checks k, v and rates [B, N, 3, heads]; the rates come back as [B, heads, 3, N].
SwigluTokens prepared_tokens(const at::Tensor& k, const at::Tensor& v, const at::Tensor& rates,
                             std::int64_t heads) {
  check_shape(kOp, "v", v, {k.size(0), k.size(1), k.size(2)});
  check_shape(kOp, "rates", rates, {k.size(0), k.size(1), 3, heads});
  check_same_dtype(kOp, "v", v, k);
  const at::Tensor eta = to_accumulation_dtype(kOp, "rates", rates, k).permute({0, 3, 2, 1});
  return {with_contiguous_rows(k), with_contiguous_rows(v), eta.contiguous()};
}

void run_apply(Backend backend, const at::Tensor& q, const SwigluMatrices& weights,
               const at::Tensor& out) {
  switch (backend) {
    case Backend::reference:
      return reference::swiglu_apply(q, weights, out);
    case Backend::cuda:
      return cuda::swiglu_apply(q, weights, out);
    default:
      return cpu::swiglu_apply(q, weights, out);
  }
}

SwigluApplyGradients run_apply_backward(Backend backend, const at::Tensor& q,
                                        const SwigluMatrices& weights, const at::Tensor& dout) {
  switch (backend) {
    case Backend::reference:
      return reference::swiglu_apply_backward(q, weights, dout);
    case Backend::cuda:
      return cuda::swiglu_apply_backward(q, weights, dout);
    default:
      return cpu::swiglu_apply_backward(q, weights, dout);
  }
}

void run_gradient(Backend backend, const SwigluTokens& tokens, const SwigluMatrices& weights,
                  const SwigluMatrices& sums) {
  switch (backend) {
    case Backend::reference:
      return reference::swiglu_gradient(tokens, weights, sums);
    case Backend::cuda:
      return cuda::swiglu_gradient(tokens, weights, sums);
    default:
      return cpu::swiglu_gradient(tokens, weights, sums);
  }
}

SwigluGradientGradients run_gradient_backward(Backend backend, const SwigluTokens& tokens,
                                              const SwigluMatrices& weights,
                                              const SwigluMatrices& dsums) {
  switch (backend) {
    case Backend::reference:
      return reference::swiglu_gradient_backward(tokens, weights, dsums);
    case Backend::cuda:
      return cuda::swiglu_gradient_backward(tokens, weights, dsums);
    default:
      return cpu::swiglu_gradient_backward(tokens, weights, dsums);
  }
}

SwigluMatrices gradient_of(Backend backend, const SwigluTokens& tokens,
                           const SwigluMatrices& weights) {
  const SwigluMatrices sums{at::zeros(weights.w0.sizes(), weights.w0.options()),
                            at::zeros(weights.w1.sizes(), weights.w1.options()),
                            at::zeros(weights.w2.sizes(), weights.w2.options())};
  run_gradient(backend, tokens, weights, sums);
  return sums;
}

/// Gradients per sample as those of the weights that the caller gave.
SwigluMatrices gradients_of(const SwigluMatrices& weights, const SwigluMatrices& per_sample) {
  return {parameter_gradient(per_sample.w0, weights.w0),
          parameter_gradient(per_sample.w1, weights.w1),
          parameter_gradient(per_sample.w2, weights.w2)};
}

struct ApplyFunction : Function<ApplyFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& w0,
                            const at::Tensor& w1, const at::Tensor& w2, std::int64_t backend) {
    at::Tensor out = at::empty(q.sizes(), q.options());
    run_apply(static_cast<Backend>(backend), q, {w0, w1, w2}, out);
    context->save_for_backward({q, w0, w1, w2});
    context->saved_data["backend"] = backend;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative(kOp);
    const variable_list saved = context->get_saved_variables();
    const auto backend = static_cast<Backend>(context->saved_data["backend"].toInt());
    const SwigluApplyGradients result = run_apply_backward(
        backend, saved[0], {saved[1], saved[2], saved[3]}, with_contiguous_rows(gradients[0]));
    return {result.dq, result.dweights.w0, result.dweights.w1, result.dweights.w2, {}};
  }
};

struct GradientFunction : Function<GradientFunction> {
  static variable_list forward(AutogradContext* context, const at::Tensor& k, const at::Tensor& v,
                               const at::Tensor& rates, const at::Tensor& w0, const at::Tensor& w1,
                               const at::Tensor& w2, std::int64_t backend) {
    const SwigluMatrices sums =
        gradient_of(static_cast<Backend>(backend), {k, v, rates}, {w0, w1, w2});
    context->save_for_backward({k, v, rates, w0, w1, w2});
    context->saved_data["backend"] = backend;
    return {sums.w0, sums.w1, sums.w2};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative(kOp);
    const variable_list saved = context->get_saved_variables();
    const auto backend = static_cast<Backend>(context->saved_data["backend"].toInt());
    const SwigluGradientGradients result = run_gradient_backward(
        backend, {saved[0], saved[1], saved[2]}, {saved[3], saved[4], saved[5]},
        {gradients[0].contiguous(), gradients[1].contiguous(), gradients[2].contiguous()});
    return {result.dk,          result.dv, result.drates, result.dweights.w0, result.dweights.w1,
            result.dweights.w2, {}};
  }
};

}  // namespace

const OpSupport& swiglu_fast_weights_support() {
  static const OpSupport support{kOp, {at::kFloat, at::kBFloat16}, cuda::swiglu_dtypes()};
  return support;
}

at::Tensor swiglu_apply(const at::Tensor& q, const SwigluMatrices& weights, Backend requested) {
  check_shape(kOp, "q", q, {-1, -1, -1});
  const Backend backend =
      resolve(swiglu_fast_weights_support(), requested, {q, weights.w0, weights.w1, weights.w2});
  const at::Tensor queries = with_contiguous_rows(q);
  const SwigluMatrices w = prepared_weights(weights, q);
  if (needs_gradient({q, w.w0, w.w1, w.w2}))
    return ApplyFunction::apply(queries, w.w0, w.w1, w.w2, static_cast<std::int64_t>(backend));
  at::Tensor out = at::empty(q.sizes(), q.options());
  run_apply(backend, queries, w, out);
  return out;
}

SwigluApplyGradients swiglu_apply_backward(const at::Tensor& q, const SwigluMatrices& weights,
                                           const at::Tensor& dout, Backend requested) {
  check_shape(kOp, "q", q, {-1, -1, -1});
  check_shape(kOp, "dout", dout, {q.size(0), q.size(1), q.size(2)});
  check_same_dtype(kOp, "dout", dout, q);
  const Backend backend = resolve(swiglu_fast_weights_support(), requested,
                                  {q, weights.w0, weights.w1, weights.w2, dout});
  const SwigluApplyGradients result = run_apply_backward(
      backend, with_contiguous_rows(q), prepared_weights(weights, q), with_contiguous_rows(dout));
  return {result.dq, gradients_of(weights, result.dweights)};
}

void swiglu_apply_out(const at::Tensor& q, const SwigluMatrices& weights, const at::Tensor& out,
                      Backend requested) {
  check_shape(kOp, "q", q, {-1, -1, -1});
  check_shape(kOp, "out", out, {q.size(0), q.size(1), q.size(2)});
  check_same_dtype(kOp, "out", out, q);
  check_output(kOp, out, {q, weights.w0, weights.w1, weights.w2});
  check_apart(kOp, out, {q, weights.w0, weights.w1, weights.w2});
  const Backend backend = resolve(swiglu_fast_weights_support(), requested,
                                  {q, weights.w0, weights.w1, weights.w2, out});
  run_apply(backend, with_contiguous_rows(q), prepared_weights(weights, q), out);
}

SwigluMatrices swiglu_gradient(const at::Tensor& k, const at::Tensor& v, const at::Tensor& rates,
                               const SwigluMatrices& weights, Backend requested) {
  check_shape(kOp, "k", k, {-1, -1, -1});
  const Backend backend = resolve(swiglu_fast_weights_support(), requested,
                                  {k, v, rates, weights.w0, weights.w1, weights.w2});
  const SwigluMatrices w = prepared_weights(weights, k);
  const SwigluTokens tokens = prepared_tokens(k, v, rates, w.w0.size(1));
  if (!needs_gradient({k, v, rates, w.w0, w.w1, w.w2})) return gradient_of(backend, tokens, w);
  const variable_list sums = GradientFunction::apply(tokens.k, tokens.v, tokens.rates, w.w0, w.w1,
                                                     w.w2, static_cast<std::int64_t>(backend));
  return {sums[0], sums[1], sums[2]};
}

SwigluGradientGradients swiglu_gradient_backward(const SwigluTokens& tokens,
                                                 const SwigluMatrices& weights,
                                                 const SwigluMatrices& dsums, Backend requested) {
  const at::Tensor &k = tokens.k, &v = tokens.v, &rates = tokens.rates;
  check_shape(kOp, "k", k, {-1, -1, -1});
  const Backend backend =
      resolve(swiglu_fast_weights_support(), requested,
              {k, v, rates, weights.w0, weights.w1, weights.w2, dsums.w0, dsums.w1, dsums.w2});
  const SwigluMatrices w = prepared_weights(weights, k);
  const auto prepared = [&](std::string_view name, const at::Tensor& dsum, const at::Tensor& like) {
    check_shape(kOp, name, dsum, {like.size(0), like.size(1), like.size(2), like.size(3)});
    return to_accumulation_dtype(kOp, name, dsum, k).contiguous();
  };
  const SwigluGradientGradients result =
      run_gradient_backward(backend, prepared_tokens(k, v, rates, w.w0.size(1)), w,
                            {prepared("dg0", dsums.w0, w.w0), prepared("dg1", dsums.w1, w.w1),
                             prepared("dg2", dsums.w2, w.w2)});
  return {result.dk, result.dv, parameter_gradient(result.drates.permute({0, 3, 2, 1}), rates),
          gradients_of(weights, result.dweights)};
}

void swiglu_gradient_add(const at::Tensor& k, const at::Tensor& v, const at::Tensor& rates,
                         const SwigluMatrices& weights, const SwigluMatrices& sums,
                         Backend requested) {
  check_shape(kOp, "k", k, {-1, -1, -1});
  const Backend backend =
      resolve(swiglu_fast_weights_support(), requested,
              {k, v, rates, weights.w0, weights.w1, weights.w2, sums.w0, sums.w1, sums.w2});
  const SwigluMatrices w = prepared_weights(weights, k);
  const auto check_sum = [&](std::string_view name, const at::Tensor& sum, const at::Tensor& like) {
    check_shape(kOp, name, sum, {like.size(0), like.size(1), like.size(2), like.size(3)});
    check_output(kOp, sum, {k, v, rates, weights.w0, weights.w1, weights.w2});
    TTT_CHECK(sum.is_contiguous() && sum.scalar_type() == like.scalar_type(), usage,
              fmt::format("{} must be contiguous and {}", name, c10::toString(like.scalar_type())),
              std::string(kOp), "pass sums made by at::zeros");
  };
  check_sum("sums.w0", sums.w0, w.w0);
  check_sum("sums.w1", sums.w1, w.w1);
  check_sum("sums.w2", sums.w2, w.w2);
  run_gradient(backend, prepared_tokens(k, v, rates, w.w0.size(1)), w, sums);
}

}  // namespace ttt::ops
