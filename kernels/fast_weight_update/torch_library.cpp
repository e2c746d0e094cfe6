// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/torch_library.h"

#include "kernels/fast_weight_update/backends.h"
#include "kernels/support/checks.h"

#include <ATen/ATen.h>

#include <tuple>

namespace ttt::ops {
namespace {

constexpr std::string_view kOp = "fast_weight_update";

using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

at::Tensor update(const at::Tensor& weight, const at::Tensor& step, const at::Tensor& norms,
                  std::string_view backend) {
  return fast_weight_update(weight, step, norms, parse_backend(backend));
}

Three update_backward(const at::Tensor& dout, const at::Tensor& weight, const at::Tensor& step,
                      const at::Tensor& norms, std::string_view backend) {
  const FastWeightUpdateArgumentGradients result =
      fast_weight_update_backward(weight, step, norms, dout, parse_backend(backend));
  return {result.dweight, result.dstep, result.dnorms};
}

at::Tensor infer(const at::Tensor& weight, const at::Tensor& step, const at::Tensor& norms,
                 std::string_view) {
  constexpr std::string_view kHint = "pass weight, step [..., in, out] and norms [..., 1, out]";
  const std::int64_t dimensions = weight.dim();
  library::check_symbolic(kOp, "weight", weight, c10::SymBool(dimensions >= 2), kHint);
  library::check_symbolic(kOp, "step", step, c10::SymBool(step.dim() == dimensions), kHint);
  library::check_symbolic(kOp, "norms", norms, c10::SymBool(norms.dim() == dimensions), kHint);
  for (std::int64_t i = 0; i < dimensions; ++i) {
    const c10::SymInt size = weight.sym_size(i);
    const c10::SymInt row = i == dimensions - 2 ? c10::SymInt(1) : size;
    library::check_symbolic(kOp, "step", step, step.sym_size(i).sym_eq(size), kHint);
    library::check_symbolic(kOp, "norms", norms, norms.sym_size(i).sym_eq(row), kHint);
  }
  return library::new_tensor(weight, weight.sym_sizes(), accumulation_dtype(weight.scalar_type()));
}

Three infer_backward(const at::Tensor&, const at::Tensor& weight, const at::Tensor& step,
                     const at::Tensor& norms, std::string_view) {
  return {library::new_tensor(weight), library::new_tensor(step), library::new_tensor(norms)};
}

TORCH_LIBRARY_FRAGMENT(ttt, m) {
  library::define<&update, &infer>(
      m,
      "fast_weight_update(Tensor weight, Tensor step, Tensor norms, *, str backend=\"auto\") -> "
      "Tensor out");
  library::define<&update_backward, &infer_backward>(
      m,
      "fast_weight_update_backward(Tensor dout, Tensor weight, Tensor step, Tensor norms, *, "
      "str backend=\"auto\") -> (Tensor dweight, Tensor dstep, Tensor dnorms)");
  library::differentiate(m,
                         {.op = "fast_weight_update", .backward = "fast_weight_update_backward"});
}

}  // namespace
}  // namespace ttt::ops
