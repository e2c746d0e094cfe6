// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/lact/lact.h"

#include "core/error.h"
#include "kernels/fast_weight_update/fast_weight_update.h"
#include "kernels/support/checks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace ttt::layers {
namespace {

constexpr double kNormEpsilon = 1e-5;
constexpr double kSoftplusThreshold = 20;
constexpr std::string_view kWhere = "LaCT layer";

/// The same part of all tokens.
at::Tensor range(const at::Tensor& tokens, const LactOperation& operation) {
  return tokens.narrow(1, operation.begin, operation.end - operation.begin);
}

const at::Tensor& any_of(const LactTokens& tokens) {
  return tokens.q.defined() ? tokens.q : tokens.k;
}

/// The schedule with its ends clamped to the sequence.
LactSchedule checked(const LactSchedule& schedule, const LactTokens& tokens) {
  TTT_CHECK(any_of(tokens).defined(), usage, "neither q nor k is given", std::string(kWhere),
            "pass the tokens of the sequence");
  const std::int64_t count = any_of(tokens).size(1);
  LactSchedule result = schedule;
  for (LactOperation& operation : result) {
    TTT_CHECK(0 <= operation.begin && operation.begin <= operation.end, usage,
              fmt::format("an operation on the tokens {} to {}", operation.begin, operation.end),
              std::string(kWhere), "use 0 <= begin <= end");
    operation.begin = std::min(operation.begin, count);
    operation.end = std::min(operation.end, count);
    TTT_CHECK(!operation.apply || tokens.q.defined(), usage, "an apply without q",
              std::string(kWhere), "pass q");
    TTT_CHECK(
        !operation.update || (tokens.k.defined() && tokens.v.defined() && tokens.rates.defined()),
        usage, "an update without k, v or rates", std::string(kWhere), "pass k, v and rates");
  }
  return result;
}

/// Mean of the chunk's momentum over its tokens (of all processes), [B, heads, 1, 1].
at::Tensor momentum_factor(const at::Tensor& momentum, const LactOperation& operation,
                           const LactOptions& options) {
  if (!momentum.defined()) return {};
  const at::Tensor chunk = range(momentum, operation);  // [B, n, heads]
  const at::ScalarType dtype = ops::accumulation_dtype(chunk.scalar_type());
  at::Tensor sum = chunk.to(dtype).sum(1);  // [B, heads]
  at::Tensor count = at::full({1}, static_cast<double>(chunk.size(1)), sum.options());
  if (options.sum) {
    sum = sum_over_processes(sum, options.sum);
    count = sum_over_processes(count, options.sum);
  }
  return (sum / count.clamp_min(1)).unsqueeze(-1).unsqueeze(-1);
}

ops::SwigluMatrices chunk_gradient(const LactTokens& tokens, const LactOperation& operation,
                                   const ops::SwigluMatrices& weights, const LactOptions& options) {
  ops::SwigluMatrices gradient =
      ops::swiglu_gradient(range(tokens.k, operation), range(tokens.v, operation),
                           range(tokens.rates, operation), weights, options.backend);
  if (options.sum)
    gradient = {sum_over_processes(gradient.w0, options.sum),
                sum_over_processes(gradient.w1, options.sum),
                sum_over_processes(gradient.w2, options.sum)};
  return gradient;
}

/// Newton-Schulz on the three gradients. On GPUs as one batch, since w1's has the others' shape
/// when transposed; CPUs gain nothing from that and would copy them.
ops::SwigluMatrices orthogonalised(const ops::SwigluMatrices& gradient,
                                   const LactOptions& options) {
  const auto run = [&](const at::Tensor& g) {
    return ops::newton_schulz(g, {options.steps, options.bf16_newton_schulz}, options.backend);
  };
  if (gradient.w0.is_cpu()) return {run(gradient.w0), run(gradient.w1), run(gradient.w2)};
  const at::Tensor x = run(at::stack({gradient.w0, gradient.w1.transpose(-2, -1), gradient.w2}));
  return {x.select(0, 0), x.select(0, 1).transpose(-2, -1), x.select(0, 2)};
}

at::Tensor with_momentum(const at::Tensor& gradient, const at::Tensor& factor,
                         const at::Tensor& previous) {
  return previous.defined() ? gradient + factor * previous : gradient;
}

at::Tensor updated(const at::Tensor& weight, const at::Tensor& step, const at::Tensor& norms,
                   const LactOptions& options) {
  std::vector<std::int64_t> row = step.sizes().vec();
  row[row.size() - 2] = 1;
  return ops::fast_weight_update(weight.expand(step.sizes()), step, norms.expand(row),
                                 options.backend);
}

FastWeights start_state(const FastWeights& start, const at::Tensor& tokens,
                        const LactOptions& options) {
  FastWeights state = start;
  const at::ScalarType dtype = ops::accumulation_dtype(tokens.scalar_type());
  for (at::Tensor* weight : {&state.weights.w0, &state.weights.w1, &state.weights.w2}) {
    TTT_CHECK(weight->defined(), usage, "the fast weights are undefined", std::string(kWhere),
              "start from the layer's weights or a loaded state");
    *weight = weight->to(dtype);
  }
  if (!options.keep_norms || !start.has_norms()) state.norms = fast_weight_norms(state.weights);
  if (options.detach_norms)
    state.norms = {state.norms.w0.detach(), state.norms.w1.detach(), state.norms.w2.detach()};
  return state;
}

/// Collects the outputs: in place where no gradient is recorded, so that they exist once.
class Outputs {
 public:
  Outputs(const LactTokens& tokens, const LactSchedule& schedule, bool record) {
    if (!tokens.q.defined()) return;
    std::int64_t rows = 0;
    for (const LactOperation& operation : schedule)
      if (operation.apply) rows += operation.end - operation.begin;
    if (!record || rows == 0)
      output_ = at::empty({tokens.q.size(0), rows, tokens.q.size(2)}, tokens.q.options());
  }
  void apply(const at::Tensor& q, const ops::SwigluMatrices& weights, ops::Backend backend) {
    if (!output_.defined()) {
      parts_.push_back(ops::swiglu_apply(q, weights, backend));
      return;
    }
    if (q.size(1) > 0)
      ops::swiglu_apply_out(q, weights, output_.narrow(1, next_, q.size(1)), backend);
    next_ += q.size(1);
  }
  at::Tensor result() const {
    if (output_.defined() || parts_.empty()) return output_;
    return parts_.size() == 1 ? parts_.front() : at::cat(parts_, 1);
  }

 private:
  at::Tensor output_;
  std::int64_t next_ = 0;
  std::vector<at::Tensor> parts_;
};

}  // namespace

FastWeights lact_update(const FastWeights& state, const ops::SwigluMatrices& gradient,
                        const at::Tensor& momentum_factor, const LactOptions& options) {
  TTT_CHECK(state.has_norms(), usage, "the state has no norms", std::string(kWhere),
            "set them with fast_weight_norms");
  FastWeights next;
  next.norms = state.norms;
  next.momentum = state.momentum;
  ops::SwigluMatrices total = gradient;
  if (momentum_factor.defined()) {
    total = {with_momentum(gradient.w0, momentum_factor, state.momentum.w0),
             with_momentum(gradient.w1, momentum_factor, state.momentum.w1),
             with_momentum(gradient.w2, momentum_factor, state.momentum.w2)};
    next.momentum = total;
  }
  const ops::SwigluMatrices step = options.orthogonalise ? orthogonalised(total, options) : total;
  const bool defect = options.published_defect && options.orthogonalise;
  const ops::SwigluMatrices& from = defect ? total : state.weights;
  next.weights = {updated(from.w0, step.w0, state.norms.w0, options),
                  updated(from.w1, step.w1, state.norms.w1, options),
                  updated(from.w2, step.w2, state.norms.w2, options)};
  return next;
}

LactResult run_lact(const FastWeights& start, const LactTokens& tokens,
                    const LactSchedule& schedule, const LactOptions& options) {
  const LactSchedule operations = checked(schedule, tokens);
  FastWeights state = start_state(start, any_of(tokens), options);
  const bool record = ops::needs_gradient({tokens.q, tokens.k, tokens.v, tokens.rates,
                                           tokens.momentum, state.weights.w0, state.weights.w1,
                                           state.weights.w2, state.momentum.w0, state.norms.w0});
  Outputs outputs(tokens, operations, record);
  for (const LactOperation& operation : operations) {
    if (operation.update)
      state = lact_update(state, chunk_gradient(tokens, operation, state.weights, options),
                          momentum_factor(tokens.momentum, operation, options), options);
    if (operation.apply) outputs.apply(range(tokens.q, operation), state.weights, options.backend);
  }
  return {outputs.result(), std::move(state)};
}

at::Tensor lact_learning_rates(const at::Tensor& x, double base) {
  TTT_CHECK(base > 0, usage, fmt::format("a base learning rate of {}", base), std::string(kWhere),
            "use a positive rate");
  const double inverse = base + std::log(-std::expm1(-base));
  return at::softplus(x.to(ops::accumulation_dtype(x.scalar_type())) + inverse, 1,
                      kSoftplusThreshold);
}

at::Tensor lact_normalise(const at::Tensor& x, std::int64_t heads) {
  const at::Tensor rows = x.unflatten(2, {heads, x.size(2) / heads});  // [B, N, heads, D]
  const at::Tensor wide = rows.to(ops::accumulation_dtype(x.scalar_type()));
  const at::Tensor length = at::linalg_vector_norm(wide, 2, at::IntArrayRef{-1}, true);
  return (wide / (length + kNormEpsilon)).to(x.scalar_type()).flatten(2, 3);
}

}  // namespace ttt::layers
