// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope_2d/rope_2d.h"

#include "kernels/rope_2d/backends.h"
#include "kernels/support/checks.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace ttt::ops {

const OpSupport& rope_2d_support();  // for the registry

namespace {

constexpr std::string_view kOp = "rope_2d";

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

Backend choose(Backend requested, const at::Tensor& x, const RopeTable& table) {
  return resolve(rope_2d_support(), requested,
                 {x, table.row_cos, table.row_sin, table.column_cos, table.column_sin});
}

void run(Backend backend, const at::Tensor& x, const RopeTable& table, bool inverse,
         const at::Tensor& out) {
  switch (backend) {
    case Backend::reference:
      return reference::rope_2d(x, table, inverse, out);
    case Backend::cuda:
      return cuda::rope_2d(x, table, inverse, out);
    default:
      return cpu::rope_2d(x, table, inverse, out);
  }
}

struct RopeFunction : Function<RopeFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const RopeTable& table,
                            std::int64_t backend) {
    at::Tensor out = at::empty(x.sizes(), x.options());
    run(static_cast<Backend>(backend), x, table, false, out);
    context->save_for_backward({table.row_cos, table.row_sin, table.column_cos, table.column_sin});
    context->saved_data["backend"] = backend;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative(kOp);
    const variable_list saved = context->get_saved_variables();
    const auto backend = static_cast<Backend>(context->saved_data["backend"].toInt());
    const at::Tensor dout = with_contiguous_rows(gradients[0]);
    at::Tensor dx = at::empty(dout.sizes(), dout.options());
    run(backend, dout, {saved[0], saved[1], saved[2], saved[3]}, true, dx);
    return {dx, {}, {}};
  }
};

}  // namespace

const OpSupport& rope_2d_support() {
  static const OpSupport support{kOp, {at::kFloat, at::kBFloat16}, cuda::rope_2d_dtypes()};
  return support;
}

RopeTable RopeTable::to(c10::Device device) const {
  return {row_cos.to(device), row_sin.to(device), column_cos.to(device), column_sin.to(device)};
}

void check_rope_table(std::string_view op, const at::Tensor& x, const RopeTable& table) {
  check_shape(op, "row_cos", table.row_cos, {-1, -1});
  for (const at::Tensor& part :
       {table.row_cos, table.row_sin, table.column_cos, table.column_sin}) {
    check_shape(op, "a part of the table", part, {-1, table.row_cos.size(-1)});
    TTT_CHECK(part.scalar_type() == at::kFloat && part.is_contiguous(), usage,
              "the table is not contiguous float", std::string(op),
              "make the table with make_rope_table");
  }
  check_shape(op, "row_sin", table.row_sin, {table.height(), table.row_cos.size(1)});
  check_shape(op, "column_sin", table.column_sin, {table.width(), table.row_cos.size(1)});
  check_shape(op, "x", x, {-1, table.height() * table.width(), table.channels()});
}

RopeTable make_rope_table(std::int64_t height, std::int64_t width, std::int64_t channels) {
  TTT_CHECK(channels >= 0 && channels % 4 == 0, usage,
            fmt::format("{} channels can't be rotated over two axes", channels), std::string(kOp),
            "use a channel count that is a multiple of 4");
  TTT_CHECK(height >= 0 && width >= 0, usage, fmt::format("the grid is {}x{}", height, width),
            std::string(kOp), "use a grid of positive size");
  const at::NoGradGuard no_gradients;
  const std::int64_t pairs = channels / 4;
  const at::TensorOptions options = at::TensorOptions().dtype(at::kFloat);
  const at::Tensor exponents = at::arange(pairs, options) / static_cast<double>(pairs);
  const at::Tensor theta = 1.0 / at::pow(10000.0, exponents);                        // [K]
  const at::Tensor row_angles = at::arange(height, options).unsqueeze(1) * theta;    // [h, K]
  const at::Tensor column_angles = at::arange(width, options).unsqueeze(1) * theta;  // [w, K]
  return {row_angles.cos(), row_angles.sin(), column_angles.cos(), column_angles.sin()};
}

at::Tensor rope_rotations(const RopeTable& table) {
  const std::int64_t h = table.height(), w = table.width(), pairs = table.channels() / 4;
  const auto over_grid = [&](const at::Tensor& rows, const at::Tensor& columns) {
    return at::cat(
        {rows.unsqueeze(1).expand({h, w, pairs}), columns.unsqueeze(0).expand({h, w, pairs})},
        -1);  // [h, w, C/2]
  };
  return at::stack(
      {over_grid(table.row_cos, table.column_cos), over_grid(table.row_sin, table.column_sin)},
      -1);  // [h, w, C/2, 2]
}

at::Tensor rope_2d(const at::Tensor& x, const RopeTable& table, Backend requested) {
  check_rope_table(kOp, x, table);
  const Backend backend = choose(requested, x, table);
  const at::Tensor input = with_contiguous_rows(x);
  if (needs_gradient({x}))
    return RopeFunction::apply(input, table, static_cast<std::int64_t>(backend));
  at::Tensor out = at::empty(x.sizes(), x.options());
  run(backend, input, table, false, out);
  return out;
}

at::Tensor rope_2d_backward(const at::Tensor& dout, const RopeTable& table, Backend requested) {
  check_rope_table(kOp, dout, table);
  at::Tensor dx = at::empty(dout.sizes(), dout.options());
  run(choose(requested, dout, table), with_contiguous_rows(dout), table, true, dx);
  return dx;
}

}  // namespace ttt::ops
