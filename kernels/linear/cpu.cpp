// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/backends.h"
#include "kernels/linear/cpu_products.h"
#include "kernels/support/checks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <tuple>

namespace ttt::ops::cpu {
namespace {

constexpr std::int64_t kSlopeRows = 64;  // of a task
// Rows between two maps at a time: enough that a call costs nothing beside its products, few enough
// that they stay in the second-level cache.
constexpr std::int64_t kHiddenRows = 256;

/// The gradient before the activation, in the dtype of x.
at::Tensor gradient_before(const LinearSaved& saved, const at::Tensor& dout) {
  if (saved.activation == LinearActivation::none && dout.scalar_type() == saved.x.scalar_type())
    return dout;
  at::Tensor out = at::empty(dout.sizes(), saved.x.options());
  parallel_tasks((dout.size(0) + kSlopeRows - 1) / kSlopeRows, [&](std::int64_t task) {
    const std::int64_t row = task * kSlopeRows;
    LinearSlope slope;
    slope.rows = std::min(kSlopeRows, dout.size(0) - row);
    slope.columns = dout.size(1);
    slope.activation = saved.activation;
    slope.dout = part_of(dout, row, 0);
    if (saved.activation != LinearActivation::none) slope.before = part_of(saved.before, row, 0);
    slope.out = part_of(out, row, 0);
    linear_kernels().slope(slope);
  });
  return out;
}

/// What the second map's backward pass gives the first one, [rows, hidden].
struct HiddenLayer {
  at::Tensor values;    ///< activation(before), as the forward pass had it
  at::Tensor gradient;  ///< before the activation
};

HiddenLayer hidden_layer(const FeedForwardSaved& saved, const at::Tensor& dout) {
  HiddenLayer hidden{at::empty_like(saved.before), at::empty_like(saved.before)};
  const at::Tensor rows = with_contiguous_rows(saved.second_weight);
  multiply_tiles(
      {dout}, pack_rows(rows, factor_dtype(dout.scalar_type())), saved.before.size(1),
      [&](const ProductTile& t) {
        for (const at::Tensor& matrix : {saved.before, hidden.values, hidden.gradient})
          prefetch(part_of(matrix, t.row, t.column), t.rows, t.columns);
      },
      [&](const ProductTile& t) {
        linear_kernels().finish_hidden({t.sums, kPanelColumns, t.rows, t.columns, saved.activation,
                                        part_of(saved.before, t.row, t.column),
                                        part_of(hidden.values, t.row, t.column),
                                        part_of(hidden.gradient, t.row, t.column)});
      });
  return hidden;
}

}  // namespace

at::Tensor pack_linear(const at::Tensor& weight, at::ScalarType dtype) {
  const at::Tensor rows = with_contiguous_rows(weight);
  const at::ScalarType factors = factor_dtype(dtype);
  at::Tensor out = at::empty({panel_count(rows.size(0)), panel_elements(rows.size(1))},
                             rows.options().dtype(factors));
  parallel_tasks(out.size(0), [&](std::int64_t panel) {
    const at::Tensor part = rows.narrow(
        0, panel * kPanelColumns, std::min(kPanelColumns, rows.size(0) - panel * kPanelColumns));
    gemm_kernels().pack_transposed({part.const_data_ptr(), part.stride(0), part.size(0),
                                    part.size(1), part.scalar_type() == at::kBFloat16},
                                   1, out.stride(0), out[panel].mutable_data_ptr(),
                                   factors == at::kBFloat16);
  });
  return out;
}

bool fits_linear(const at::Tensor& panels, at::ScalarType dtype) {
  return panels.defined() && panels.scalar_type() == factor_dtype(dtype);
}

void linear_packed(const LinearRows& rows, const at::Tensor& panels, const LinearTail& tail,
                   const at::Tensor& out) {
  if (out.numel() > 0) multiply_rows(rows, panels, tail, out);
}

void linear(const LinearRows& rows, const at::Tensor& weight, const LinearTail& tail,
            const at::Tensor& out) {
  if (out.numel() > 0) multiply_rows(rows, pack_linear(weight, rows.x.scalar_type()), tail, out);
}

LinearGradients linear_backward(const LinearSaved& saved, const at::Tensor& dout,
                                const LinearNeeds& needs) {
  const at::Tensor dz = gradient_before(saved, dout);
  LinearGradients result;
  if (needs.x) result.dx = input_gradient(dz, saved.weight);
  if (!needs.weight) return result;
  std::tie(result.dweight, result.dbias) = parameter_gradients(dz, saved.x);
  return result;
}

void feed_forward(const at::Tensor& x, const FeedForwardMaps& maps, const FeedForwardResult& to) {
  const at::ScalarType dtype = x.scalar_type();
  const at::Tensor first = pack_linear(maps.first_weight, dtype);
  const at::Tensor second = pack_linear(maps.second_weight, dtype);
  const std::int64_t rows = x.size(0);
  const at::Tensor hidden =
      at::empty({std::min(kHiddenRows, rows), maps.first_weight.size(0)}, x.options());
  for (std::int64_t row = 0; row < rows; row += kHiddenRows) {
    const std::int64_t count = std::min(kHiddenRows, rows - row);
    const auto part = [&](const at::Tensor& matrix) {
      return matrix.defined() ? matrix.narrow(0, row, count) : matrix;
    };
    const at::Tensor between = hidden.narrow(0, 0, count);
    linear_packed({part(x)}, first, {maps.first_bias, maps.activation, {}, part(to.before)},
                  between);
    linear_packed({between}, second,
                  {maps.second_bias, LinearActivation::none, part(to.residual), {}}, part(to.out));
  }
}

FeedForwardGradients feed_forward_backward(const FeedForwardSaved& saved, const at::Tensor& dout,
                                           const FeedForwardNeeds& needs) {
  const at::Tensor d = gradient_before({saved.x}, dout);
  FeedForwardGradients result;
  HiddenLayer hidden = hidden_layer(saved, d);
  if (needs.second)
    std::tie(result.second_weight, result.second_bias) = parameter_gradients(d, hidden.values);
  hidden.values.reset();
  if (needs.x) result.x = input_gradient(hidden.gradient, saved.first_weight);
  if (needs.first)
    std::tie(result.first_weight, result.first_bias) =
        parameter_gradients(hidden.gradient, saved.x);
  return result;
}

}  // namespace ttt::ops::cpu
