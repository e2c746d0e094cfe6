// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/torch_library.h"

#include "kernels/support/checks.h"
#include "kernels/ttt_depthwise/backends.h"
#include "kernels/ttt_depthwise/ttt_depthwise.h"

#include <ATen/ATen.h>

#include <tuple>

namespace ttt::ops {
namespace {

constexpr std::string_view kOp = "ttt_depthwise";

using Two = std::tuple<at::Tensor, at::Tensor>;
using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

at::Tensor step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3,
                std::string_view backend) {
  return depthwise_step(k, v, w3, parse_backend(backend));
}

Two step_forward(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3,
                 std::string_view backend) {
  DepthwiseStep result = depthwise_step_forward(k, v, w3, parse_backend(backend));
  return {std::move(result.kernels), std::move(result.gradient)};
}

Three step_backward(const at::Tensor& dkernels, const at::Tensor& k, const at::Tensor& v,
                    const at::Tensor& w3, const at::Tensor& gradient, std::string_view backend) {
  const DepthwiseStepAllGradients result =
      depthwise_step_backward({k, v, w3, gradient}, dkernels, parse_backend(backend));
  return {result.dk, result.dv, result.dw3};
}

at::Tensor apply(const at::Tensor& q, const at::Tensor& kernels, std::string_view backend) {
  return depthwise_apply(q, kernels, parse_backend(backend));
}

Two apply_backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& kernels,
                   std::string_view backend) {
  const DepthwiseApplyGradients result =
      depthwise_apply_backward(q, kernels, dout, parse_backend(backend));
  return {result.dq, result.dkernels};
}

at::Tensor infer_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3,
                      std::string_view) {
  library::check_symbolic_shape(kOp, "k", k, {-1, -1, -1, -1});
  const c10::SymInt batch = k.sym_size(0), d = k.sym_size(3);
  library::check_symbolic_shape(kOp, "v", v, {batch, k.sym_size(1), k.sym_size(2), d});
  library::check_symbolic_shape(kOp, "w3", w3, {d, 1, 3, 3});
  return library::new_tensor(k, {batch, 3, 3, d}, accumulation_dtype(k.scalar_type()));
}

Two infer_step_forward(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3,
                       std::string_view backend) {
  const at::Tensor kernels = infer_step(k, v, w3, backend);
  return {kernels, library::new_tensor(kernels)};
}

Three infer_step_backward(const at::Tensor&, const at::Tensor& k, const at::Tensor& v,
                          const at::Tensor& w3, const at::Tensor&, std::string_view) {
  return {library::new_tensor(k), library::new_tensor(v), library::new_tensor(w3)};
}

at::Tensor infer_apply(const at::Tensor& q, const at::Tensor& kernels, std::string_view) {
  library::check_symbolic_shape(kOp, "q", q, {-1, -1, -1, -1});
  library::check_symbolic_shape(kOp, "kernels", kernels, {q.sym_size(0), 3, 3, q.sym_size(3)});
  return library::new_tensor(q);
}

Two infer_apply_backward(const at::Tensor&, const at::Tensor& q, const at::Tensor& kernels,
                         std::string_view) {
  return {library::new_tensor(q), library::new_tensor(kernels)};
}

TORCH_LIBRARY_FRAGMENT(ttt, m) {
  library::define<&step, &infer_step>(
      m,
      "depthwise_step(Tensor k, Tensor v, Tensor w3, *, str backend=\"auto\") -> Tensor kernels");
  library::define<&step_forward, &infer_step_forward>(
      m,
      "depthwise_step_forward(Tensor k, Tensor v, Tensor w3, *, str backend=\"auto\") -> "
      "(Tensor kernels, Tensor gradient)");
  library::define<&step_backward, &infer_step_backward>(
      m,
      "depthwise_step_backward(Tensor dkernels, Tensor k, Tensor v, Tensor w3, Tensor gradient, *, "
      "str backend=\"auto\") -> (Tensor dk, Tensor dv, Tensor dw3)");
  library::differentiate(m, {.op = "depthwise_step",
                             .backward = "depthwise_step_backward",
                             .forward = "depthwise_step_forward"});
  library::define<&apply, &infer_apply>(
      m, "depthwise_apply(Tensor q, Tensor kernels, *, str backend=\"auto\") -> Tensor out");
  library::define<&apply_backward, &infer_apply_backward>(
      m,
      "depthwise_apply_backward(Tensor dout, Tensor q, Tensor kernels, *, str backend=\"auto\") -> "
      "(Tensor dq, Tensor dkernels)");
  library::differentiate(m, {.op = "depthwise_apply", .backward = "depthwise_apply_backward"});
}

}  // namespace
}  // namespace ttt::ops
