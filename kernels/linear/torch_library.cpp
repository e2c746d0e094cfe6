// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/torch_library.h"

#include "kernels/linear/backends.h"
#include "kernels/support/checks.h"

#include <ATen/ATen.h>

#include <array>
#include <optional>
#include <tuple>

namespace ttt::ops {
namespace {

constexpr std::string_view kOp = "linear";

using Optional = std::optional<at::Tensor>;
using Pair = std::tuple<at::Tensor, at::Tensor>;
using Four = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

LinearActivation parse_activation(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, LinearActivation>, 5> kWords{
      {{"none", LinearActivation::none},
       {"relu", LinearActivation::relu},
       {"gelu", LinearActivation::gelu},
       {"gelu_tanh", LinearActivation::gelu_tanh},
       {"silu", LinearActivation::silu}}};
  for (const auto& [name, activation] : kWords)
    if (name == word) return activation;
  throw Error(ErrorKind::usage, fmt::format("unknown activation '{}'", printable(word)),
              std::string(kOp), "use none, relu, gelu, gelu_tanh or silu");
}

Pair forward(const at::Tensor& x, const at::Tensor& weight, const Optional& bias,
             const Optional& residual, std::string_view activation, std::string_view backend) {
  // Unlike linear(), this leaves autocast to the caller, as the other ops do.
  return linear_forward(x, weight, bias.value_or(at::Tensor()),
                        {parse_activation(activation), residual.value_or(at::Tensor())},
                        parse_backend(backend));
}

at::Tensor compute(const at::Tensor& x, const at::Tensor& weight, const Optional& bias,
                   const Optional& residual, std::string_view activation,
                   std::string_view backend) {
  return std::get<0>(forward(x, weight, bias, residual, activation, backend));
}

Four backward(const at::Tensor& dout, const at::Tensor& x, const at::Tensor& weight,
              const Optional& bias, const at::Tensor& before, std::string_view activation,
              std::string_view backend) {
  const LinearGradients result = linear_backward({x, weight, before, parse_activation(activation)},
                                                 dout, parse_backend(backend));
  return {result.dx, result.dweight, bias ? result.dbias.to(bias->scalar_type()) : result.dbias,
          dout.clone()};
}

at::Tensor infer(const at::Tensor& x, const at::Tensor& weight, const Optional& bias,
                 const Optional& residual, std::string_view activation, std::string_view) {
  using library::check_symbolic_shape;
  parse_activation(activation);
  check_symbolic_shape(kOp, "weight", weight, {-1, -1});
  if (bias) check_symbolic_shape(kOp, "bias", *bias, {weight.sym_size(0)});
  TTT_CHECK(x.dim() >= 1, usage, "x has no dimensions", std::string(kOp),
            "pass tensors of the documented shapes");
  library::check_symbolic(kOp, "x", x, x.sym_size(-1).sym_eq(weight.sym_size(1)),
                          "pass activations as wide as the weight");
  std::vector<c10::SymInt> sizes = x.sym_sizes().vec();
  sizes.back() = weight.sym_size(0);
  return library::new_tensor(x, c10::SymIntArrayRef(sizes),
                             residual ? residual->scalar_type() : x.scalar_type());
}

Pair infer_forward(const at::Tensor& x, const at::Tensor& weight, const Optional& bias,
                   const Optional& residual, std::string_view activation,
                   std::string_view backend) {
  const at::Tensor out = infer(x, weight, bias, residual, activation, backend);
  c10::SymInt rows = 1;
  for (std::int64_t i = 0; i + 1 < x.dim(); ++i) rows *= x.sym_size(i);
  if (parse_activation(activation) == LinearActivation::none) rows = 0;
  return {out, library::new_tensor(x, {rows, weight.sym_size(0)}, x.scalar_type())};
}

Four infer_backward(const at::Tensor& dout, const at::Tensor& x, const at::Tensor& weight,
                    const Optional& bias, const at::Tensor&, std::string_view, std::string_view) {
  const at::ScalarType bias_dtype = bias ? bias->scalar_type() : weight.scalar_type();
  return {library::new_tensor(x), library::new_tensor(weight),
          library::new_tensor(weight, {weight.sym_size(0)}, bias_dtype), library::new_tensor(dout)};
}

TORCH_LIBRARY_FRAGMENT(ttt, m) {
  const std::string arguments =
      "(Tensor x, Tensor weight, Tensor? bias=None, Tensor? residual=None, *, "
      "str activation=\"none\", str backend=\"auto\") -> ";
  library::define<&compute, &infer>(m, "linear" + arguments + "Tensor out");
  library::define<&forward, &infer_forward>(
      m, "linear_forward" + arguments + "(Tensor out, Tensor before)");
  library::define<&backward, &infer_backward>(
      m,
      "linear_backward(Tensor dout, Tensor x, Tensor weight, Tensor? bias, Tensor before, *, "
      "str activation=\"none\", str backend=\"auto\") -> "
      "(Tensor dx, Tensor dweight, Tensor dbias, Tensor dresidual)");
  library::differentiate(
      m, {.op = "linear", .backward = "linear_backward", .forward = "linear_forward"});
}

}  // namespace
}  // namespace ttt::ops
