// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/newton_schulz/backends.h"

#include <ATen/ATen.h>

namespace ttt::ops::reference {
namespace {

at::Tensor transposed(const at::Tensor& m) {
  return m.transpose(-2, -1);
}

/// What the official code stores between two operations.
at::Tensor stored(const at::Tensor& value, bool bf16) {
  return bf16 ? value.to(at::kBFloat16).to(at::kDouble) : value;
}

/// ||g||_F of each matrix, [batch, 1, 1].
at::Tensor norms(const at::Tensor& g) {
  return g.square().sum({1, 2}, true).sqrt();
}

/// One iteration: A = X X^T, Q = b A + (c A) A and the next X.
struct Iteration {
  Iteration(const at::Tensor& x, const NewtonSchulzStep& step, bool bf16) : x(x) {
    a = stored(x.matmul(transposed(x)), bf16);
    const at::Tensor square = stored(stored(step.c * a, bf16).matmul(a), bf16);
    q = stored(stored(step.b * a, bf16) + square, bf16);
    next = stored(stored(step.a * x, bf16) + stored(q.matmul(x), bf16), bf16);
  }
  at::Tensor x, a, q, next;
};

std::vector<Iteration> iterate(const at::Tensor& start, const NewtonSchulzOptions& options) {
  std::vector<Iteration> iterations;
  for (const NewtonSchulzStep& step : options.steps)
    iterations.emplace_back(iterations.empty() ? start : iterations.back().next, step,
                            options.bf16);
  return iterations;
}

at::Tensor normalised(const at::Tensor& g, bool bf16) {
  const at::Tensor x = stored(g, bf16);
  return stored(x / stored(stored(norms(x), bf16) + kNewtonSchulzEpsilon, bf16), bf16);
}

}  // namespace

at::Tensor newton_schulz(const at::Tensor& g, const NewtonSchulzOptions& options) {
  const at::Tensor start = normalised(g.to(at::kDouble), options.bf16);
  const std::vector<Iteration> iterations = iterate(start, options);
  return (iterations.empty() ? start : iterations.back().next).to(g.scalar_type()).contiguous();
}

at::Tensor newton_schulz_backward(const at::Tensor& g, const NewtonSchulzOptions& options,
                                  const at::Tensor& dx) {
  const at::Tensor gd = g.to(at::kDouble);
  const std::vector<Iteration> iterations = iterate(normalised(gd, options.bf16), options);
  at::Tensor d = dx.to(at::kDouble);
  for (std::size_t i = iterations.size(); i-- > 0;) {
    const Iteration& at = iterations[i];
    const NewtonSchulzStep& step = options.steps[i];
    const at::Tensor dq = d.matmul(transposed(at.x));
    const at::Tensor da = step.b * dq + step.c * (dq.matmul(at.a) + at.a.matmul(dq));
    d = step.a * d + at.q.matmul(d) + (da + transposed(da)).matmul(at.x);
  }
  const at::Tensor norm = norms(gd), scale = 1 / (norm + kNewtonSchulzEpsilon);
  const at::Tensor dot = (d * gd).sum({1, 2}, true);
  const at::Tensor along =
      at::where(norm > 0, dot * scale * scale / norm, at::zeros({}, norm.options()));
  return (d * scale - gd * along).to(g.scalar_type());
}

}  // namespace ttt::ops::reference
