// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope_2d/backends.h"
#include "kernels/ttt_gated_linear/backends.h"

#include <ATen/ATen.h>

#include <cmath>

namespace ttt::ops::reference {
namespace {

double sigmoid(double z) {
  return 1.0 / (1.0 + std::exp(-z));
}
double silu(double z) {
  return z * sigmoid(z);
}
double silu_slope(double z) {
  return sigmoid(z) * (1.0 + z * (1.0 - sigmoid(z)));
}
double silu_curvature(double z) {
  const double s = sigmoid(z);
  return s * (1.0 - s) * (2.0 + z * (1.0 - 2.0 * s));
}

at::Tensor in_double(const at::Tensor& tensor) {
  return tensor.to(at::kDouble).contiguous();
}

/// x as the op sees it: rotated where there is a table. The inverse turns its gradient back.
at::Tensor rotated(const at::Tensor& x, const RopeTable* rope, bool inverse = false) {
  if (rope == nullptr) return x;
  at::Tensor out = at::empty(x.sizes(), x.options());
  rope_2d(x, *rope, inverse, out);
  return out;
}

struct Sizes {
  explicit Sizes(const at::Tensor& x, const at::Tensor& w)
      : batch(x.size(0)), tokens(x.size(1)), heads(w.size(1)), d(w.size(2)) {}
  std::int64_t batch, tokens, heads, d;
  /// Token n of one head in a contiguous [B, N, heads*d] tensor.
  double* row(const at::Tensor& x, std::int64_t b, std::int64_t head, std::int64_t n) const {
    return x.data_ptr<double>() + ((b * tokens + n) * heads + head) * d;
  }
  /// Matrix of one sample and head in a contiguous [B, heads, d, d] tensor.
  double* matrix(const at::Tensor& w, std::int64_t b, std::int64_t head) const {
    return w.data_ptr<double>() + (b * heads + head) * d * d;
  }
};

/// sum_i row[i] * w[i][column]
double times_column(const double* row, const double* w, std::int64_t d, std::int64_t column) {
  double sum = 0;
  for (std::int64_t i = 0; i < d; ++i) sum += row[i] * w[i * d + column];
  return sum;
}

/// sum_j row[j] * w[i][j]
double times_row(const double* row, const double* w, std::int64_t d, std::int64_t i) {
  double sum = 0;
  for (std::int64_t j = 0; j < d; ++j) sum += row[j] * w[i * d + j];
  return sum;
}

double column_norm(const double* g, std::int64_t d, std::int64_t column) {
  double sum = 0;
  for (std::int64_t i = 0; i < d; ++i) sum += g[i * d + column] * g[i * d + column];
  return std::sqrt(sum);
}

/// out = w - g / (||g|| + 1), one norm per column.
void clipped_step(const double* w, const double* g, double* out, std::int64_t d) {
  for (std::int64_t j = 0; j < d; ++j) {
    const double norm = column_norm(g, d, j);
    for (std::int64_t i = 0; i < d; ++i) out[i * d + j] = w[i * d + j] - g[i * d + j] / (norm + 1);
  }
}

/// Gradient of clipped_step with respect to g, given that of its result.
void clipped_step_backward(const double* g, const double* dout, double* dg, std::int64_t d) {
  for (std::int64_t j = 0; j < d; ++j) {
    const double norm = column_norm(g, d, j);
    double dot = 0;  // <g, dh>, dh = -dout
    for (std::int64_t i = 0; i < d; ++i) dot -= g[i * d + j] * dout[i * d + j];
    const double along = norm > 0 ? dot / (norm * (norm + 1) * (norm + 1)) : 0;
    for (std::int64_t i = 0; i < d; ++i)
      dg[i * d + j] = -dout[i * d + j] / (norm + 1) - g[i * d + j] * along;
  }
}

/// Backward of one token of one head; the matrices are those of its sample and head.
struct TokenBackward {
  const double *w1, *w2, *dg1, *dg2;
  double *dw1, *dw2;
  std::int64_t d;
  double scale;  // -1/(3N)

  void operator()(const double* k, const double* v, double* dk, double* dv) const {
    std::vector<double> p1(d), p2(d), dz1(d), dz2(d);
    for (std::int64_t j = 0; j < d; ++j) {
      const double z1 = times_column(k, w1, d, j), z2 = times_column(k, w2, d, j);
      const double dp1 = times_column(k, dg1, d, j), dp2 = times_column(k, dg2, d, j);
      const double e = scale * v[j];
      p1[j] = e * silu(z2);
      p2[j] = e * z1 * silu_slope(z2);
      dv[j] = scale * (dp1 * silu(z2) + dp2 * z1 * silu_slope(z2));
      dz1[j] = dp2 * e * silu_slope(z2);
      dz2[j] = dp1 * e * silu_slope(z2) + dp2 * e * z1 * silu_curvature(z2);
    }
    for (std::int64_t i = 0; i < d; ++i) {
      dk[i] = times_row(p1.data(), dg1, d, i) + times_row(p2.data(), dg2, d, i) +
              times_row(dz1.data(), w1, d, i) + times_row(dz2.data(), w2, d, i);
      for (std::int64_t j = 0; j < d; ++j) {
        dw1[i * d + j] += k[i] * dz1[j];
        dw2[i * d + j] += k[i] * dz2[j];
      }
    }
  }
};

}  // namespace

GatedLinearStep gated_linear_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w1,
                                  const at::Tensor& w2, const RopeTable* rope) {
  const at::Tensor kd = in_double(rotated(k, rope)), vd = in_double(v), w1d = in_double(w1),
                   w2d = in_double(w2);
  const Sizes sizes(k, w1);
  const std::int64_t d = sizes.d;
  const at::Tensor g1 = at::zeros_like(w1d), g2 = at::zeros_like(w1d);
  const at::Tensor out1 = at::empty_like(w1d), out2 = at::empty_like(w1d);
  const double scale = sizes.tokens > 0 ? -1.0 / (3.0 * static_cast<double>(sizes.tokens)) : 0.0;
  for (std::int64_t b = 0; b < sizes.batch; ++b) {
    for (std::int64_t head = 0; head < sizes.heads; ++head) {
      const double *a1 = sizes.matrix(w1d, b, head), *a2 = sizes.matrix(w2d, b, head);
      double *s1 = sizes.matrix(g1, b, head), *s2 = sizes.matrix(g2, b, head);
      for (std::int64_t n = 0; n < sizes.tokens; ++n) {
        const double *key = sizes.row(kd, b, head, n), *value = sizes.row(vd, b, head, n);
        for (std::int64_t j = 0; j < d; ++j) {
          const double z1 = times_column(key, a1, d, j), z2 = times_column(key, a2, d, j);
          const double p1 = scale * value[j] * silu(z2);
          const double p2 = scale * value[j] * z1 * silu_slope(z2);
          for (std::int64_t i = 0; i < d; ++i) {
            s1[i * d + j] += key[i] * p1;
            s2[i * d + j] += key[i] * p2;
          }
        }
      }
      clipped_step(a1, s1, sizes.matrix(out1, b, head), d);
      clipped_step(a2, s2, sizes.matrix(out2, b, head), d);
    }
  }
  const at::ScalarType dtype = w1.scalar_type();
  return {out1.to(dtype), out2.to(dtype), g1.to(dtype), g2.to(dtype)};
}

GatedLinearStepGradients gated_linear_step_backward(const GatedLinearStepSaved& saved,
                                                    const at::Tensor& dout1,
                                                    const at::Tensor& dout2) {
  const at::Tensor kd = in_double(rotated(saved.k, saved.rope)), vd = in_double(saved.v);
  const at::Tensor w1d = in_double(saved.w1), w2d = in_double(saved.w2);
  const at::Tensor g1d = in_double(saved.g1), g2d = in_double(saved.g2);
  const at::Tensor d1 = in_double(dout1), d2 = in_double(dout2);
  const Sizes sizes(kd, w1d);
  const std::int64_t d = sizes.d;
  const at::Tensor dk = at::empty_like(kd), dv = at::empty_like(kd);
  const at::Tensor dw1 = d1.clone(), dw2 = d2.clone();
  const at::Tensor dg1 = at::empty({d, d}, kd.options()), dg2 = at::empty({d, d}, kd.options());
  for (std::int64_t b = 0; b < sizes.batch; ++b) {
    for (std::int64_t head = 0; head < sizes.heads; ++head) {
      double *m1 = dg1.data_ptr<double>(), *m2 = dg2.data_ptr<double>();
      clipped_step_backward(sizes.matrix(g1d, b, head), sizes.matrix(d1, b, head), m1, d);
      clipped_step_backward(sizes.matrix(g2d, b, head), sizes.matrix(d2, b, head), m2, d);
      const TokenBackward token{sizes.matrix(w1d, b, head),
                                sizes.matrix(w2d, b, head),
                                m1,
                                m2,
                                sizes.matrix(dw1, b, head),
                                sizes.matrix(dw2, b, head),
                                d,
                                -1.0 / (3.0 * static_cast<double>(sizes.tokens))};
      for (std::int64_t n = 0; n < sizes.tokens; ++n)
        token(sizes.row(kd, b, head, n), sizes.row(vd, b, head, n), sizes.row(dk, b, head, n),
              sizes.row(dv, b, head, n));
    }
  }
  const at::ScalarType x = saved.k.scalar_type(), w = saved.w1.scalar_type();
  return {rotated(dk.to(x), saved.rope, true), dv.to(x), dw1.to(w), dw2.to(w)};
}

void gated_linear_apply(const at::Tensor& q, const at::Tensor& w1, const at::Tensor& w2,
                        const RopeTable* rope, const at::Tensor& out) {
  const at::Tensor qd = in_double(rotated(q, rope)), w1d = in_double(w1), w2d = in_double(w2);
  const at::Tensor result = at::empty_like(qd);
  const Sizes sizes(q, w1);
  for (std::int64_t b = 0; b < sizes.batch; ++b)
    for (std::int64_t head = 0; head < sizes.heads; ++head)
      for (std::int64_t n = 0; n < sizes.tokens; ++n) {
        const double* row = sizes.row(qd, b, head, n);
        for (std::int64_t j = 0; j < sizes.d; ++j)
          sizes.row(result, b, head, n)[j] =
              times_column(row, sizes.matrix(w1d, b, head), sizes.d, j) *
              silu(times_column(row, sizes.matrix(w2d, b, head), sizes.d, j));
      }
  out.copy_(result);
}

GatedLinearApplyGradients gated_linear_apply_backward(const at::Tensor& q, const at::Tensor& w1,
                                                      const at::Tensor& w2, const at::Tensor& dout,
                                                      const RopeTable* rope) {
  const at::Tensor qd = in_double(rotated(q, rope)), w1d = in_double(w1), w2d = in_double(w2);
  const at::Tensor doutd = in_double(dout);
  const at::Tensor dq = at::empty_like(qd), dw1 = at::zeros_like(w1d), dw2 = at::zeros_like(w2d);
  const Sizes sizes(qd, w1d);
  const std::int64_t d = sizes.d;
  std::vector<double> dy1(d), dy2(d);
  for (std::int64_t b = 0; b < sizes.batch; ++b)
    for (std::int64_t head = 0; head < sizes.heads; ++head) {
      const double *a1 = sizes.matrix(w1d, b, head), *a2 = sizes.matrix(w2d, b, head);
      double *s1 = sizes.matrix(dw1, b, head), *s2 = sizes.matrix(dw2, b, head);
      for (std::int64_t n = 0; n < sizes.tokens; ++n) {
        const double* row = sizes.row(qd, b, head, n);
        for (std::int64_t j = 0; j < d; ++j) {
          const double y1 = times_column(row, a1, d, j), y2 = times_column(row, a2, d, j);
          dy1[j] = sizes.row(doutd, b, head, n)[j] * silu(y2);
          dy2[j] = sizes.row(doutd, b, head, n)[j] * y1 * silu_slope(y2);
        }
        for (std::int64_t i = 0; i < d; ++i) {
          sizes.row(dq, b, head, n)[i] =
              times_row(dy1.data(), a1, d, i) + times_row(dy2.data(), a2, d, i);
          for (std::int64_t j = 0; j < d; ++j) {
            s1[i * d + j] += row[i] * dy1[j];
            s2[i * d + j] += row[i] * dy2[j];
          }
        }
      }
    }
  const at::ScalarType x = q.scalar_type(), w = w1.scalar_type();
  return {rotated(dq.to(x), rope, true), dw1.to(w), dw2.to(w)};
}

}  // namespace ttt::ops::reference
