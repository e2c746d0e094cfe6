// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/torch_library.h"

#include "kernels/support/checks.h"
#include "kernels/swiglu_fast_weights/backends.h"

#include <ATen/ATen.h>

#include <tuple>

namespace ttt::ops {
namespace {

constexpr std::string_view kOp = "swiglu_fast_weights";

using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using Four = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using Six = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

at::Tensor apply(const at::Tensor& q, const at::Tensor& w0, const at::Tensor& w1,
                 const at::Tensor& w2, std::string_view backend) {
  return swiglu_apply(q, {w0, w1, w2}, parse_backend(backend));
}

Four apply_backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& w0,
                    const at::Tensor& w1, const at::Tensor& w2, std::string_view backend) {
  const SwigluApplyGradients result =
      swiglu_apply_backward(q, {w0, w1, w2}, dout, parse_backend(backend));
  return {result.dq, result.dweights.w0, result.dweights.w1, result.dweights.w2};
}

Three gradient(const at::Tensor& k, const at::Tensor& v, const at::Tensor& rates,
               const at::Tensor& w0, const at::Tensor& w1, const at::Tensor& w2,
               std::string_view backend) {
  const SwigluMatrices sums = swiglu_gradient(k, v, rates, {w0, w1, w2}, parse_backend(backend));
  return {sums.w0, sums.w1, sums.w2};
}

Six gradient_backward(const at::Tensor& dg0, const at::Tensor& dg1, const at::Tensor& dg2,
                      const at::Tensor& k, const at::Tensor& v, const at::Tensor& rates,
                      const at::Tensor& w0, const at::Tensor& w1, const at::Tensor& w2,
                      std::string_view backend) {
  const SwigluGradientGradients result = swiglu_gradient_backward(
      {k, v, rates}, {w0, w1, w2}, {dg0, dg1, dg2}, parse_backend(backend));
  return {result.dk,          result.dv,          result.drates,
          result.dweights.w0, result.dweights.w1, result.dweights.w2};
}

void check_weights(const at::Tensor& x, const at::Tensor& w0, const at::Tensor& w1,
                   const at::Tensor& w2) {
  library::check_symbolic_shape(kOp, "w0", w0, {-1, -1, -1, -1});
  const c10::SymInt batch = w0.sym_size(0), heads = w0.sym_size(1);
  const c10::SymInt width = w0.sym_size(2), hidden = w0.sym_size(3);
  library::check_symbolic_shape(kOp, "w1", w1, {batch, heads, hidden, width});
  library::check_symbolic_shape(kOp, "w2", w2, {batch, heads, width, hidden});
  constexpr std::string_view kHint = "pass weights [1 or B, heads, D, h] with heads * D channels";
  library::check_symbolic(kOp, "w0", w0, (heads * width).sym_eq(x.sym_size(2)), kHint);
  library::check_symbolic(kOp, "w0", w0, batch.sym_eq(1).sym_or(batch.sym_eq(x.sym_size(0))),
                          kHint);
}

at::Tensor infer_apply(const at::Tensor& q, const at::Tensor& w0, const at::Tensor& w1,
                       const at::Tensor& w2, std::string_view) {
  library::check_symbolic_shape(kOp, "q", q, {-1, -1, -1});
  check_weights(q, w0, w1, w2);
  return library::new_tensor(q);
}

Four infer_apply_backward(const at::Tensor&, const at::Tensor& q, const at::Tensor& w0,
                          const at::Tensor& w1, const at::Tensor& w2, std::string_view) {
  return {library::new_tensor(q), library::new_tensor(w0), library::new_tensor(w1),
          library::new_tensor(w2)};
}

/// Sums over the tokens: one matrix a sample.
at::Tensor infer_sum(const at::Tensor& k, const at::Tensor& w) {
  return library::new_tensor(k, {k.sym_size(0), w.sym_size(1), w.sym_size(2), w.sym_size(3)},
                             accumulation_dtype(k.scalar_type()));
}

Three infer_gradient(const at::Tensor& k, const at::Tensor& v, const at::Tensor& rates,
                     const at::Tensor& w0, const at::Tensor& w1, const at::Tensor& w2,
                     std::string_view) {
  library::check_symbolic_shape(kOp, "k", k, {-1, -1, -1});
  library::check_symbolic_shape(kOp, "v", v, {k.sym_size(0), k.sym_size(1), k.sym_size(2)});
  check_weights(k, w0, w1, w2);
  library::check_symbolic_shape(kOp, "rates", rates,
                                {k.sym_size(0), k.sym_size(1), 3, w0.sym_size(1)});
  return {infer_sum(k, w0), infer_sum(k, w1), infer_sum(k, w2)};
}

Six infer_gradient_backward(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                            const at::Tensor& k, const at::Tensor& v, const at::Tensor& rates,
                            const at::Tensor& w0, const at::Tensor& w1, const at::Tensor& w2,
                            std::string_view) {
  return {library::new_tensor(k),  library::new_tensor(v),  library::new_tensor(rates),
          library::new_tensor(w0), library::new_tensor(w1), library::new_tensor(w2)};
}

TORCH_LIBRARY_FRAGMENT(ttt, m) {
  library::define<&apply, &infer_apply>(
      m,
      "swiglu_apply(Tensor q, Tensor w0, Tensor w1, Tensor w2, *, str backend=\"auto\") -> "
      "Tensor out");
  library::define<&apply_backward, &infer_apply_backward>(
      m,
      "swiglu_apply_backward(Tensor dout, Tensor q, Tensor w0, Tensor w1, Tensor w2, *, "
      "str backend=\"auto\") -> (Tensor dq, Tensor dw0, Tensor dw1, Tensor dw2)");
  library::differentiate(m, {.op = "swiglu_apply", .backward = "swiglu_apply_backward"});
  library::define<&gradient, &infer_gradient>(
      m,
      "swiglu_gradient(Tensor k, Tensor v, Tensor rates, Tensor w0, Tensor w1, Tensor w2, *, "
      "str backend=\"auto\") -> (Tensor g0, Tensor g1, Tensor g2)");
  library::define<&gradient_backward, &infer_gradient_backward>(
      m,
      "swiglu_gradient_backward(Tensor dg0, Tensor dg1, Tensor dg2, Tensor k, Tensor v, "
      "Tensor rates, Tensor w0, Tensor w1, Tensor w2, *, str backend=\"auto\") -> "
      "(Tensor dk, Tensor dv, Tensor drates, Tensor dw0, Tensor dw1, Tensor dw2)");
  library::differentiate(m, {.op = "swiglu_gradient", .backward = "swiglu_gradient_backward"});
}

}  // namespace
}  // namespace ttt::ops
