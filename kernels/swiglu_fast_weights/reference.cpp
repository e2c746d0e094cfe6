// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/swiglu_fast_weights/backends.h"

#include <ATen/ATen.h>

namespace ttt::ops::reference {
namespace {

/// Activations [B, N, heads*D] as [B, heads, N, D] in double.
at::Tensor rows_of(const at::Tensor& x, std::int64_t heads) {
  return x.to(at::kDouble)
      .reshape({x.size(0), x.size(1), heads, x.size(2) / heads})
      .transpose(1, 2);
}

/// The way back, in the dtype of `like`.
at::Tensor activations(const at::Tensor& rows, const at::Tensor& like) {
  return rows.transpose(1, 2).reshape(like.sizes()).to(like.scalar_type());
}

at::Tensor transposed(const at::Tensor& m) {
  return m.transpose(-2, -1);
}

SwigluMatrices in_double(const SwigluMatrices& m) {
  return {m.w0.to(at::kDouble), m.w1.to(at::kDouble), m.w2.to(at::kDouble)};
}

SwigluMatrices in_dtype(const SwigluMatrices& m, at::ScalarType dtype) {
  return {m.w0.to(dtype), m.w1.to(dtype), m.w2.to(dtype)};
}

/// silu(a) as a * sigmoid(a), and its first two derivatives.
struct Silu {
  explicit Silu(const at::Tensor& a) {
    const at::Tensor s = a.sigmoid();
    value = a * s;
    slope = s * (1 + a * (1 - s));
    curvature = s * (1 - s) * (2 + a * (1 - 2 * s));
  }
  at::Tensor value, slope, curvature;
};

/// Rates of one matrix, [B, heads, N, 1].
at::Tensor rate(const at::Tensor& rates, std::int64_t which) {
  return rates.to(at::kDouble).select(2, which).unsqueeze(-1);
}

}  // namespace

void swiglu_apply(const at::Tensor& q, const SwigluMatrices& weights, const at::Tensor& out) {
  const SwigluMatrices w = in_double(weights);
  const at::Tensor x = rows_of(q, w.w0.size(1));  // [B, heads, N, D]
  const at::Tensor hidden = Silu(x.matmul(w.w0)).value * x.matmul(w.w2);
  out.copy_(activations(hidden.matmul(w.w1), q));
}

SwigluApplyGradients swiglu_apply_backward(const at::Tensor& q, const SwigluMatrices& weights,
                                           const at::Tensor& dout) {
  const SwigluMatrices w = in_double(weights);
  const at::Tensor x = rows_of(q, w.w0.size(1)), dy = rows_of(dout, w.w0.size(1));
  const Silu u(x.matmul(w.w0));
  const at::Tensor c = x.matmul(w.w2), dhidden = dy.matmul(transposed(w.w1));
  const at::Tensor da = dhidden * c * u.slope, dc = dhidden * u.value;
  const at::Tensor dx = da.matmul(transposed(w.w0)) + dc.matmul(transposed(w.w2));
  const SwigluMatrices dw{transposed(x).matmul(da), transposed(u.value * c).matmul(dy),
                          transposed(x).matmul(dc)};
  return {activations(dx, q), in_dtype(dw, weights.w0.scalar_type())};
}

void swiglu_gradient(const SwigluTokens& tokens, const SwigluMatrices& weights,
                     const SwigluMatrices& sums) {
  const SwigluMatrices w = in_double(weights);
  const at::Tensor k = rows_of(tokens.k, w.w0.size(1)), v = rows_of(tokens.v, w.w0.size(1));
  const Silu u(k.matmul(w.w0));
  const at::Tensor c = k.matmul(w.w2), r = v.matmul(transposed(w.w1));
  const at::Tensor g0 = transposed(k * rate(tokens.rates, 0)).matmul(r * c * u.slope);
  const at::Tensor g1 = transposed(u.value * c * rate(tokens.rates, 1)).matmul(v);
  const at::Tensor g2 = transposed(k * rate(tokens.rates, 2)).matmul(r * u.value);
  sums.w0.add_(g0);
  sums.w1.add_(g1);
  sums.w2.add_(g2);
}

SwigluGradientGradients swiglu_gradient_backward(const SwigluTokens& tokens,
                                                 const SwigluMatrices& weights,
                                                 const SwigluMatrices& dsums) {
  const SwigluMatrices w = in_double(weights), d = in_double(dsums);
  const at::Tensor k = rows_of(tokens.k, w.w0.size(1)), v = rows_of(tokens.v, w.w0.size(1));
  const at::Tensor eta0 = rate(tokens.rates, 0), eta1 = rate(tokens.rates, 1),
                   eta2 = rate(tokens.rates, 2);
  const Silu u(k.matmul(w.w0));
  const at::Tensor c = k.matmul(w.w2), r = v.matmul(transposed(w.w1));
  const at::Tensor hidden = u.value * c, rc = r * u.value, ra = r * c * u.slope;
  // The loss is sum_i sum_j eta0 p0 ra + eta1 p1 hidden + eta2 p2 rc.
  const at::Tensor p0 = k.matmul(d.w0), p1 = v.matmul(transposed(d.w1)), p2 = k.matmul(d.w2);
  const at::Tensor dr = eta0 * p0 * c * u.slope + eta2 * p2 * u.value;
  const at::Tensor dc = eta0 * p0 * r * u.slope + eta1 * p1 * u.value;
  const at::Tensor da =
      eta0 * p0 * r * c * u.curvature + eta1 * p1 * c * u.slope + eta2 * p2 * r * u.slope;
  const at::Tensor dk = (eta0 * ra).matmul(transposed(d.w0)) +
                        (eta2 * rc).matmul(transposed(d.w2)) + da.matmul(transposed(w.w0)) +
                        dc.matmul(transposed(w.w2));
  const at::Tensor dv = (eta1 * hidden).matmul(d.w1) + dr.matmul(w.w1);
  const at::Tensor drates = at::stack({(p0 * ra).sum(-1), (p1 * hidden).sum(-1), (p2 * rc).sum(-1)},
                                      2);  // [B, heads, 3, N]
  const SwigluMatrices dw{transposed(k).matmul(da), transposed(dr).matmul(v),
                          transposed(k).matmul(dc)};
  return {activations(dk, tokens.k), activations(dv, tokens.v),
          drates.to(tokens.rates.scalar_type()), in_dtype(dw, weights.w0.scalar_type())};
}

}  // namespace ttt::ops::reference
