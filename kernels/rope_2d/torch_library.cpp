// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/torch_library.h"

#include "kernels/rope_2d/backends.h"

#include <ATen/ATen.h>

#include <optional>
#include <tuple>

namespace ttt::ops {
namespace {

constexpr std::string_view kOp = "rope_2d";

using Table = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

at::Tensor rotate(const at::Tensor& x, const at::Tensor& row_cos, const at::Tensor& row_sin,
                  const at::Tensor& column_cos, const at::Tensor& column_sin,
                  std::string_view backend) {
  return rope_2d(x, {row_cos, row_sin, column_cos, column_sin}, parse_backend(backend));
}

at::Tensor rotate_back(const at::Tensor& dout, const at::Tensor& row_cos, const at::Tensor& row_sin,
                       const at::Tensor& column_cos, const at::Tensor& column_sin,
                       std::string_view backend) {
  return rope_2d_backward(dout, {row_cos, row_sin, column_cos, column_sin}, parse_backend(backend));
}

/// Of both: the result is like x.
at::Tensor infer(const at::Tensor& x, const at::Tensor& row_cos, const at::Tensor& row_sin,
                 const at::Tensor& column_cos, const at::Tensor& column_sin, std::string_view) {
  using library::check_symbolic_shape;
  check_symbolic_shape(kOp, "row_cos", row_cos, {-1, -1});
  const c10::SymInt height = row_cos.sym_size(0), pairs = row_cos.sym_size(1);
  check_symbolic_shape(kOp, "row_sin", row_sin, {height, pairs});
  check_symbolic_shape(kOp, "column_cos", column_cos, {-1, pairs});
  const c10::SymInt width = column_cos.sym_size(0);
  check_symbolic_shape(kOp, "column_sin", column_sin, {width, pairs});
  check_symbolic_shape(kOp, "x", x, {-1, height * width, pairs * 4});
  return library::new_tensor(x);
}

Table table(std::int64_t height, std::int64_t width, std::int64_t channels,
            std::optional<c10::Device> device) {
  const RopeTable made = make_rope_table(height, width, channels);
  const auto placed = [&](const at::Tensor& part) { return device ? part.to(*device) : part; };
  return {placed(made.row_cos), placed(made.row_sin), placed(made.column_cos),
          placed(made.column_sin)};
}

TORCH_LIBRARY_FRAGMENT(ttt, m) {
  library::define<&rotate, &infer>(
      m,
      "rope_2d(Tensor x, Tensor row_cos, Tensor row_sin, Tensor column_cos, Tensor column_sin, *, "
      "str backend=\"auto\") -> Tensor out");
  library::define<&rotate_back, &infer>(
      m,
      "rope_2d_backward(Tensor dout, Tensor row_cos, Tensor row_sin, Tensor column_cos, "
      "Tensor column_sin, *, str backend=\"auto\") -> Tensor dx");
  library::differentiate(m, {.op = "rope_2d", .backward = "rope_2d_backward"});
  m.def(
      "rope_2d_table(int height, int width, int channels, *, Device? device=None) -> "
      "(Tensor row_cos, Tensor row_sin, Tensor column_cos, Tensor column_sin)",
      TORCH_FN(library::Kernel<&table>::call), {at::Tag::pt2_compliant_tag});
}

}  // namespace
}  // namespace ttt::ops
