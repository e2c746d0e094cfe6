// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/torch_library.h"

#include "kernels/newton_schulz/backends.h"
#include "kernels/support/checks.h"

#include <ATen/ATen.h>

namespace ttt::ops {
namespace {

constexpr std::string_view kOp = "newton_schulz";

/// Three numbers an iteration: a, b, c.
NewtonSchulzOptions make_options(at::ArrayRef<double> coefficients, bool bf16) {
  TTT_CHECK(coefficients.size() % 3 == 0, usage,
            fmt::format("there are {} coefficients", coefficients.size()), std::string(kOp),
            "pass three numbers a, b, c for each iteration, as in 5 * [3.4445, -4.775, 2.0315]");
  NewtonSchulzOptions options;
  options.bf16 = bf16;
  for (std::size_t i = 0; i < coefficients.size(); i += 3)
    options.steps.push_back({coefficients[i], coefficients[i + 1], coefficients[i + 2]});
  return options;
}

/// In memory of its own, as results of the dispatcher's ops must be: where there is nothing to
/// compute, or a transpose to undo, the function gives a view.
at::Tensor compute(const at::Tensor& g, at::ArrayRef<double> coefficients, bool bf16,
                   std::string_view backend) {
  const at::Tensor result =
      newton_schulz(g, make_options(coefficients, bf16), parse_backend(backend));
  return result.numel() == 0 ? result.clone(at::MemoryFormat::Contiguous) : result.contiguous();
}

at::Tensor compute_backward(const at::Tensor& dout, const at::Tensor& g,
                            at::ArrayRef<double> coefficients, bool bf16,
                            std::string_view backend) {
  return newton_schulz_backward(g, make_options(coefficients, bf16), dout, parse_backend(backend));
}

at::Tensor infer(const at::Tensor& g, at::ArrayRef<double> coefficients, bool bf16,
                 std::string_view) {
  make_options(coefficients, bf16);
  TTT_CHECK(g.dim() >= 2, usage, "g has less than two dimensions", std::string(kOp),
            "pass matrices [..., m, n]");
  return library::new_tensor(g, g.sym_sizes(), accumulation_dtype(g.scalar_type()));
}

at::Tensor infer_backward(const at::Tensor&, const at::Tensor& g, at::ArrayRef<double>, bool,
                          std::string_view) {
  return library::new_tensor(g);
}

TORCH_LIBRARY_FRAGMENT(ttt, m) {
  library::define<&compute, &infer>(
      m,
      "newton_schulz(Tensor g, float[] coefficients, *, bool bf16=False, str backend=\"auto\") -> "
      "Tensor out");
  library::define<&compute_backward, &infer_backward>(
      m,
      "newton_schulz_backward(Tensor dout, Tensor g, float[] coefficients, *, bool bf16=False, "
      "str backend=\"auto\") -> Tensor dg");
  library::differentiate(m, {.op = "newton_schulz", .backward = "newton_schulz_backward"});
}

}  // namespace
}  // namespace ttt::ops
