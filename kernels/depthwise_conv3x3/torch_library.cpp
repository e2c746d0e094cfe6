// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/torch_library.h"

#include "kernels/depthwise_conv3x3/backends.h"
#include "kernels/support/checks.h"

#include <ATen/ATen.h>

#include <optional>
#include <tuple>

namespace ttt::ops {
namespace {

constexpr std::string_view kOp = "depthwise_conv3x3";

using Tensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

Activation parse_activation(std::string_view word) {
  if (word == "none") return Activation::none;
  if (word == "relu") return Activation::relu;
  if (word == "gelu") return Activation::gelu;
  throw Error(ErrorKind::usage, fmt::format("unknown activation '{}'", printable(word)),
              std::string(kOp), "use none, relu or gelu");
}

at::Tensor convolve(const at::Tensor& x, const at::Tensor& weight,
                    const std::optional<at::Tensor>& bias, std::int64_t stride, bool add_input,
                    std::string_view activation, std::string_view backend) {
  return depthwise_conv3x3(x, weight, bias.value_or(at::Tensor()),
                           {stride, add_input, parse_activation(activation)},
                           parse_backend(backend));
}

Tensors backward(const at::Tensor& dout, const at::Tensor& x, const at::Tensor& weight,
                 const std::optional<at::Tensor>& bias, std::int64_t stride, bool add_input,
                 std::string_view activation, std::string_view backend) {
  const DepthwiseConvParameterGradients result = depthwise_conv3x3_backward(
      {x, weight, bias.value_or(at::Tensor())}, {stride, add_input, parse_activation(activation)},
      dout, parse_backend(backend));
  return {result.dx, result.dweight, result.dbias};
}

at::Tensor infer(const at::Tensor& x, const at::Tensor& weight,
                 const std::optional<at::Tensor>& bias, std::int64_t stride, bool,
                 std::string_view activation, std::string_view) {
  using library::check_symbolic_shape;
  check_symbolic_shape(kOp, "x", x, {-1, -1, -1, -1});
  const c10::SymInt channels = x.sym_size(3);
  check_symbolic_shape(kOp, "weight", weight, {channels, 1, 3, 3});
  if (bias) check_symbolic_shape(kOp, "bias", *bias, {channels});
  parse_activation(activation);
  TTT_CHECK(stride == 1 || stride == 2, usage, fmt::format("stride {} is not available", stride),
            std::string(kOp), "use stride 1 or 2");
  const auto size = [&](std::int64_t dimension) {
    return (x.sym_size(dimension) + (stride - 1)) / stride;
  };
  return library::new_tensor(x, {x.sym_size(0), size(1), size(2), channels}, x.scalar_type());
}

Tensors infer_backward(const at::Tensor&, const at::Tensor& x, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, std::int64_t, bool, std::string_view,
                       std::string_view) {
  const at::ScalarType bias_dtype =
      bias ? bias->scalar_type() : accumulation_dtype(x.scalar_type());
  return {library::new_tensor(x), library::new_tensor(weight),
          library::new_tensor(x, {x.sym_size(3)}, bias_dtype)};
}

TORCH_LIBRARY_FRAGMENT(ttt, m) {
  library::define<&convolve, &infer>(
      m,
      "depthwise_conv3x3(Tensor x, Tensor weight, Tensor? bias=None, *, int stride=1, "
      "bool add_input=False, str activation=\"none\", str backend=\"auto\") -> Tensor out");
  library::define<&backward, &infer_backward>(
      m,
      "depthwise_conv3x3_backward(Tensor dout, Tensor x, Tensor weight, Tensor? bias=None, *, "
      "int stride=1, bool add_input=False, str activation=\"none\", str backend=\"auto\") -> "
      "(Tensor dx, Tensor dweight, Tensor dbias)");
  library::differentiate(m, {.op = "depthwise_conv3x3", .backward = "depthwise_conv3x3_backward"});
}

}  // namespace
}  // namespace ttt::ops
