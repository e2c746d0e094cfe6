// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/torch_library.h"

#include "kernels/support/checks.h"
#include "kernels/ttt_gated_linear/backends.h"

#include <ATen/ATen.h>

#include <tuple>

namespace ttt::ops {
namespace {

constexpr std::string_view kOp = "ttt_gated_linear";

using Two = std::tuple<at::Tensor, at::Tensor>;
using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using Four = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

Two step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w1, const at::Tensor& w2,
         std::string_view backend) {
  InnerWeights result = gated_linear_step(k, v, w1, w2, parse_backend(backend));
  return {std::move(result.w1), std::move(result.w2)};
}

Four step_forward(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w1,
                  const at::Tensor& w2, std::string_view backend) {
  GatedLinearStep result = gated_linear_step_forward(k, v, w1, w2, parse_backend(backend));
  return {std::move(result.w1), std::move(result.w2), std::move(result.g1), std::move(result.g2)};
}

Four step_backward(const at::Tensor& dnew_w1, const at::Tensor& dnew_w2, const at::Tensor& k,
                   const at::Tensor& v, const at::Tensor& w1, const at::Tensor& w2,
                   const at::Tensor& g1, const at::Tensor& g2, std::string_view backend) {
  const GatedLinearStepGradients result =
      gated_linear_step_backward({k, v, w1, w2, g1, g2}, dnew_w1, dnew_w2, parse_backend(backend));
  return {result.dk, result.dv, result.dw1, result.dw2};
}

at::Tensor apply(const at::Tensor& q, const at::Tensor& w1, const at::Tensor& w2,
                 std::string_view backend) {
  return gated_linear_apply(q, {w1, w2}, parse_backend(backend));
}

Three apply_backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& w1,
                     const at::Tensor& w2, std::string_view backend) {
  const GatedLinearApplyGradients result =
      gated_linear_apply_backward(q, {w1, w2}, dout, parse_backend(backend));
  return {result.dq, result.dw1, result.dw2};
}

void check_weight(std::string_view name, const at::Tensor& w, const at::Tensor& x) {
  library::check_symbolic_shape(kOp, name, w, {-1, -1, -1, -1});
  const c10::SymInt batch = w.sym_size(0), heads = w.sym_size(1), d = w.sym_size(2);
  constexpr std::string_view kHint = "pass weights [1 or B, heads, d, d] with heads * d channels";
  library::check_symbolic(kOp, name, w, w.sym_size(3).sym_eq(d), kHint);
  library::check_symbolic(kOp, name, w, (heads * d).sym_eq(x.sym_size(2)), kHint);
  library::check_symbolic(kOp, name, w, batch.sym_eq(1).sym_or(batch.sym_eq(x.sym_size(0))), kHint);
}

/// Weights after the step: one set a sample.
at::Tensor infer_weights(const at::Tensor& k, const at::Tensor& w) {
  return library::new_tensor(k, {k.sym_size(0), w.sym_size(1), w.sym_size(2), w.sym_size(3)},
                             accumulation_dtype(k.scalar_type()));
}

Two infer_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w1, const at::Tensor& w2,
               std::string_view) {
  library::check_symbolic_shape(kOp, "k", k, {-1, -1, -1});
  library::check_symbolic_shape(kOp, "v", v, {k.sym_size(0), k.sym_size(1), k.sym_size(2)});
  check_weight("w1", w1, k);
  check_weight("w2", w2, k);
  return {infer_weights(k, w1), infer_weights(k, w2)};
}

Four infer_step_forward(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w1,
                        const at::Tensor& w2, std::string_view backend) {
  const auto [new_w1, new_w2] = infer_step(k, v, w1, w2, backend);
  return {new_w1, new_w2, infer_weights(k, w1), infer_weights(k, w2)};
}

Four infer_step_backward(const at::Tensor&, const at::Tensor&, const at::Tensor& k,
                         const at::Tensor& v, const at::Tensor& w1, const at::Tensor& w2,
                         const at::Tensor&, const at::Tensor&, std::string_view) {
  return {library::new_tensor(k), library::new_tensor(v), library::new_tensor(w1),
          library::new_tensor(w2)};
}

at::Tensor infer_apply(const at::Tensor& q, const at::Tensor& w1, const at::Tensor& w2,
                       std::string_view) {
  library::check_symbolic_shape(kOp, "q", q, {-1, -1, -1});
  check_weight("w1", w1, q);
  check_weight("w2", w2, q);
  return library::new_tensor(q);
}

Three infer_apply_backward(const at::Tensor&, const at::Tensor& q, const at::Tensor& w1,
                           const at::Tensor& w2, std::string_view) {
  return {library::new_tensor(q), library::new_tensor(w1), library::new_tensor(w2)};
}

TORCH_LIBRARY_FRAGMENT(ttt, m) {
  library::define<&step, &infer_step>(
      m,
      "gated_linear_step(Tensor k, Tensor v, Tensor w1, Tensor w2, *, str backend=\"auto\") -> "
      "(Tensor new_w1, Tensor new_w2)");
  library::define<&step_forward, &infer_step_forward>(
      m,
      "gated_linear_step_forward(Tensor k, Tensor v, Tensor w1, Tensor w2, *, "
      "str backend=\"auto\") -> (Tensor new_w1, Tensor new_w2, Tensor g1, Tensor g2)");
  library::define<&step_backward, &infer_step_backward>(
      m,
      "gated_linear_step_backward(Tensor dnew_w1, Tensor dnew_w2, Tensor k, Tensor v, Tensor w1, "
      "Tensor w2, Tensor g1, Tensor g2, *, str backend=\"auto\") -> "
      "(Tensor dk, Tensor dv, Tensor dw1, Tensor dw2)");
  library::differentiate(m, {.op = "gated_linear_step",
                             .backward = "gated_linear_step_backward",
                             .forward = "gated_linear_step_forward"});
  library::define<&apply, &infer_apply>(
      m,
      "gated_linear_apply(Tensor q, Tensor w1, Tensor w2, *, str backend=\"auto\") -> Tensor out");
  library::define<&apply_backward, &infer_apply_backward>(
      m,
      "gated_linear_apply_backward(Tensor dout, Tensor q, Tensor w1, Tensor w2, *, "
      "str backend=\"auto\") -> (Tensor dq, Tensor dw1, Tensor dw2)");
  library::differentiate(m,
                         {.op = "gated_linear_apply", .backward = "gated_linear_apply_backward"});
}

}  // namespace
}  // namespace ttt::ops
