// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/newton_schulz/backends.h"
#include "kernels/newton_schulz/cpu_tiles.h"
#include "kernels/support/cpu_gemm.h"

#include <ATen/ATen.h>

#include <cmath>

namespace ttt::ops::cpu {
namespace {

// Of a matrix that one thread iterates on alone.
constexpr std::int64_t kSharedElements = 256 * 512;

/// sum of a * b over each matrix [batch, m, n] of contiguous tensors, in double, rows in order.
std::vector<double> dots(const at::Tensor& a, const at::Tensor& b) {
  const std::int64_t batch = a.size(0), rows = a.size(1), columns = a.size(2);
  std::vector<double> of_rows(static_cast<std::size_t>(batch * rows));
  const float *left = a.const_data_ptr<float>(), *right = b.const_data_ptr<float>();
  at::parallel_for(0, batch * rows, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      double sum = 0;
      for (std::int64_t i = row * columns; i < (row + 1) * columns; ++i)
        sum += static_cast<double>(left[i]) * static_cast<double>(right[i]);
      of_rows[static_cast<std::size_t>(row)] = sum;
    }
  });
  std::vector<double> result(static_cast<std::size_t>(batch), 0.0);
  for (std::size_t row = 0; row < of_rows.size(); ++row)
    result[row / static_cast<std::size_t>(rows)] += of_rows[row];
  return result;
}

/// One factor per matrix, [batch, 1, 1].
at::Tensor per_matrix(const std::vector<double>& values, const at::Tensor& like) {
  const at::Tensor result =
      at::empty({static_cast<std::int64_t>(values.size()), 1, 1}, like.options());
  for (std::size_t i = 0; i < values.size(); ++i)
    result.mutable_data_ptr<float>()[i] = static_cast<float>(values[i]);
  return result;
}

at::Tensor normalised(const at::Tensor& g) {
  std::vector<double> factors = dots(g, g);
  for (double& factor : factors) factor = 1 / (std::sqrt(factor) + kNewtonSchulzEpsilon);
  return g * per_matrix(factors, g);
}

/// The matrices of one iteration on [batch, m, n], m <= n.
struct Iteration {
  Iteration(const at::Tensor& x, const NewtonSchulzStep& step, bool bf16) : x(x) {
    a = at::empty({x.size(0), x.size(1), x.size(1)}, x.options());
    q = at::empty_like(a);
    multiply_batched({x, x.transpose(1, 2), a, 1, false, true, bf16});
    multiply_batched({a, a, q, static_cast<float>(step.c), false, true, bf16});
    q.add_(a, step.b);
  }
  at::Tensor next(const NewtonSchulzStep& step, bool bf16) const {
    const at::Tensor result = x * step.a;
    multiply_batched({q, x, result, 1, true, false, bf16});
    return result;
  }
  at::Tensor x, a, q;
};

at::Tensor product(const at::Tensor& a, const at::Tensor& b, bool bf16) {
  const at::Tensor c = at::empty({a.size(0), a.size(1), b.size(2)}, a.options());
  multiply_batched({a, b, c, 1, false, false, bf16});
  return c;
}

}  // namespace

at::Tensor newton_schulz(const at::Tensor& g, const NewtonSchulzOptions& options) {
  const bool turned = g.stride(2) != 1 && g.stride(1) == 1;
  const at::Tensor from = turned || g.stride(2) == 1 ? g : g.contiguous();
  const std::int64_t batch = g.size(0), rows = g.size(1), columns = g.size(2);
  const at::Tensor out = turned ? at::empty({batch, columns, rows}, g.options()).transpose(1, 2)
                                : at::empty({batch, rows, columns}, g.options());
  const auto matrix_of = [turned](float* data, const at::Tensor& matrices, std::int64_t i) {
    return FloatMatrix{data + i * matrices.stride(0), matrices.stride(turned ? 2 : 1), turned};
  };
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    NewtonSchulzIterations iterations(rows, columns, options.bf16);
    for (std::int64_t i = begin; i < end; ++i)
      iterations.run(matrix_of(const_cast<float*>(from.const_data_ptr<float>()), from, i),
                     options.steps, matrix_of(out.mutable_data_ptr<float>(), out, i));
    release_products();
  };
  // Threads share the matrices, or where those are large or few, their tiles.
  if (batch >= at::get_num_threads() && rows * columns <= kSharedElements) {
    at::parallel_for(0, batch, 1, run);
  } else {
    run(0, batch);
  }
  return out;
}

at::Tensor newton_schulz_backward(const at::Tensor& g, const NewtonSchulzOptions& options,
                                  const at::Tensor& dx) {
  const at::Tensor from = g.contiguous();
  std::vector<Iteration> iterations;
  at::Tensor x = normalised(from);
  for (const NewtonSchulzStep& step : options.steps) {
    iterations.emplace_back(x, step, options.bf16);
    x = iterations.back().next(step, options.bf16);
  }
  at::Tensor d = dx.contiguous();
  for (std::size_t i = iterations.size(); i-- > 0;) {
    const Iteration& at = iterations[i];
    const NewtonSchulzStep& step = options.steps[i];
    const at::Tensor dq = product(d, at.x.transpose(1, 2), options.bf16);
    // A is symmetric: dA + dA^T = S b + c (S A + A S) with S = dQ + dQ^T.
    const at::Tensor s = dq + dq.transpose(1, 2);
    const at::Tensor sa = product(s, at.a, options.bf16);
    const at::Tensor da = (sa + sa.transpose(1, 2)).mul_(step.c).add_(s, step.b);
    const at::Tensor previous = d * step.a;
    multiply_batched({at.q, d, previous, 1, true, false, options.bf16});
    multiply_batched({da, at.x, previous, 1, true, false, options.bf16});
    d = previous;
  }
  std::vector<double> scales = dots(from, from), along = dots(d, from);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const double norm = std::sqrt(scales[i]);
    scales[i] = 1 / (norm + kNewtonSchulzEpsilon);
    along[i] = norm > 0 ? along[i] * scales[i] * scales[i] / norm : 0;
  }
  return d * per_matrix(scales, d) - from * per_matrix(along, d);
}

}  // namespace ttt::ops::cpu
