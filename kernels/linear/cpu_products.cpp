// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/cpu_products.h"

#include "kernels/support/checks.h"
#include "kernels/support/cpu_isa.h"

#include <ATen/ATen.h>

#include <cstring>

namespace ttt::ops::cpu {
namespace {

constexpr std::int64_t kDepth = 768;          // of one product: its panel stays in the cache too
constexpr std::int64_t kGradientRows = 4096;  // rows whose transposed copies are held at a time

PackSource source_of(const at::Tensor& rows) {
  return {rows.const_data_ptr(), rows.stride(0), rows.size(0), rows.size(1),
          rows.scalar_type() == at::kBFloat16};
}

const void* offset(const void* data, std::int64_t elements, bool bf16) {
  return static_cast<const char*>(data) + elements * (bf16 ? 2 : 4);
}
void* offset(const at::Tensor& to, std::int64_t elements) {
  return const_cast<void*>(
      offset(to.const_data_ptr(), elements, to.scalar_type() == at::kBFloat16));
}

/// Up to 64 columns of a matrix.
PackSource panel_of(const at::Tensor& matrix, std::int64_t panel) {
  PackSource part = source_of(matrix);
  part.data = offset(part.data, panel * kPanelColumns, part.bf16);
  part.columns = std::min(kPanelColumns, part.columns - panel * kPanelColumns);
  return part;
}

/// out (+)= (x P)^T in float.
void multiply_turned(const LinearRows& factor, const at::Tensor& panels, bool add,
                     const at::Tensor& out) {
  multiply_tiles(
      factor, panels, out.size(0),
      [&](const ProductTile& t) { prefetch(part_of(out, t.column, t.row), t.columns, t.rows); },
      [&](const ProductTile& t) {
        auto* const to = static_cast<float*>(offset(out, t.column * out.stride(0) + t.row));
        linear_kernels().write_transposed(
            {t.sums, kPanelColumns, t.rows, t.columns, to, out.stride(0), add});
      });
}

/// A factor of a gradient, and what its columns are added to, while they are in the cache; null:
/// nothing.
struct SummedFactor {
  at::Tensor matrix;  ///< [rows, columns]
  float* sums = nullptr;
};

void add_sums(const SummedFactor& factor, std::int64_t panel) {
  if (factor.sums == nullptr) return;
  const std::int64_t column = panel * kPanelColumns;
  linear_kernels().add_column_sums(part_of(factor.matrix, 0, column), factor.matrix.size(0),
                                   std::min(kPanelColumns, factor.matrix.size(1) - column),
                                   factor.sums + column);
}

/// As right factor of depth `rows`.
at::Tensor packed(const SummedFactor& factor, at::ScalarType dtype) {
  const at::Tensor& matrix = factor.matrix;
  const std::int64_t panels = panel_count(matrix.size(1));
  at::Tensor out =
      at::empty({panels, panel_elements(matrix.size(0))}, matrix.options().dtype(dtype));
  parallel_tasks(panels, [&](std::int64_t panel) {
    gemm_kernels().pack(panel_of(matrix, panel), 1, out.stride(0),
                        offset(out, panel * out.stride(0)), dtype == at::kBFloat16);
    add_sums(factor, panel);
  });
  return out;
}

/// The transpose as left factor, [columns, rows rounded up to even].
at::Tensor transposed(const SummedFactor& factor, at::ScalarType dtype) {
  const at::Tensor& matrix = factor.matrix;
  const std::int64_t stride = round_up(matrix.size(0), 2);
  const at::Tensor out = at::empty({matrix.size(1), stride}, matrix.options().dtype(dtype));
  const bool bf16 = dtype == at::kBFloat16;
  parallel_tasks(panel_count(matrix.size(1)), [&](std::int64_t panel) {
    gemm_kernels().transpose(panel_of(matrix, panel), offset(out, panel * kPanelColumns * stride),
                             stride, bf16);
    add_sums(factor, panel);
  });
  return bf16 ? out : out.narrow(1, 0, matrix.size(0));
}

}  // namespace

const LinearKernels& linear_kernels() {
  return select_kernels(baseline::linear_kernels, avx2::linear_kernels, avx512::linear_kernels);
}

at::ScalarType factor_dtype(at::ScalarType activations) {
  return activations == at::kBFloat16 && has_bfloat16_products() ? at::kBFloat16 : at::kFloat;
}

LinearMatrix part_of(const at::Tensor& matrix, std::int64_t row, std::int64_t column) {
  if (!matrix.defined()) return {};
  const bool bf16 = matrix.scalar_type() == at::kBFloat16;
  return {offset(matrix, row * matrix.stride(0) + column), matrix.stride(0), bf16};
}

at::Tensor pack_rows(const at::Tensor& matrix, at::ScalarType dtype) {
  return packed({matrix}, dtype);
}

std::int64_t ProductGrid::first_tile(std::int64_t work_before) const {
  const std::int64_t block = work_before / (kTileRows * panels), row = block * kTileRows;
  if (row >= rows) return (rows + kTileRows - 1) / kTileRows * panels;
  const std::int64_t tile = std::min(kTileRows, rows - row);
  return block * panels + (work_before - row * panels + tile - 1) / tile;
}

void prefetch(const LinearMatrix& matrix, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kLine = 64;
  if (matrix.data == nullptr) return;
  const std::int64_t element = matrix.bf16 ? 2 : 4;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t byte = 0; byte < columns * element; byte += kLine)
      __builtin_prefetch(static_cast<const char*>(matrix.data) + row * matrix.stride * element +
                         byte);
}

LeftRows::LeftRows(const LinearRows& rows, at::ScalarType dtype)
    : source_(source_of(rows.x)), norm_(rows.norm), bf16_(dtype == at::kBFloat16) {
  depth_ = bf16_ ? round_up(source_.columns, 2) : source_.columns;
  copies_ = norm_.defined() || source_.bf16 != bf16_ || depth_ != source_.columns;
  stride_ = copies_ ? round_up(depth_, 2) : source_.stride;
}

const void* LeftRows::rows(std::int64_t first, std::int64_t count, float* scratch) const {
  const void* from = offset(source_.data, first * source_.stride, source_.bf16);
  if (!copies_) return from;
  if (norm_.defined()) {
    const float* bias = norm_.bias.defined() ? norm_.bias.const_data_ptr<float>() : nullptr;
    linear_kernels().normalise({count,
                                source_.columns,
                                {const_cast<void*>(from), source_.stride, source_.bf16},
                                {scratch, stride_, bf16_},
                                norm_.weight.const_data_ptr<float>(),
                                bias,
                                static_cast<float>(norm_.epsilon)});
    return scratch;
  }
  if (depth_ != source_.columns) std::memset(scratch, 0, sizeof(float) * kTileRows * depth_);
  gemm_kernels().convert({from, source_.stride, count, source_.columns, source_.bf16}, scratch,
                         stride_, bf16_);
  return scratch;
}

void LeftRows::multiply(const void* rows, const at::Tensor& panels, std::int64_t panel,
                        PanelProduct p) const {
  if (depth_ == 0) std::memset(p.c, 0, sizeof(float) * p.rows * kPanelColumns);
  p.a_stride = stride_;
  p.b_stride = panel_elements(depth_);
  p.c_stride = p.c_panel_stride = kPanelColumns;
  p.bf16 = bf16_;
  for (std::int64_t k = 0; k < depth_; k += kDepth) {
    p.depth = std::min(kDepth, depth_ - k);
    p.a = offset(rows, k, bf16_);
    p.b = offset(panels, panel * panels.stride(0) + k * kPanelColumns);
    p.add = k > 0;
    cpu::multiply(p);
  }
}

void multiply_rows(const LinearRows& factor, const at::Tensor& panels, const LinearTail& tail,
                   const at::Tensor& out) {
  const float* bias = tail.bias.defined() ? tail.bias.const_data_ptr<float>() : nullptr;
  multiply_tiles(
      factor, panels, out.size(1),
      [&](const ProductTile& t) {
        for (const at::Tensor& matrix : {tail.residual, tail.before, out})
          prefetch(part_of(matrix, t.row, t.column), t.rows, t.columns);
      },
      [&](const ProductTile& t) {
        linear_kernels().finish(
            {t.sums, kPanelColumns, t.rows, t.columns, bias == nullptr ? nullptr : bias + t.column,
             tail.activation, part_of(tail.residual, t.row, t.column),
             part_of(tail.before, t.row, t.column), part_of(out, t.row, t.column)});
      });
}

std::pair<at::Tensor, at::Tensor> parameter_gradients(const at::Tensor& dout, const at::Tensor& x) {
  const at::ScalarType dtype = factor_dtype(x.scalar_type());
  const at::TensorOptions options = x.options().dtype(at::kFloat);
  at::Tensor weight = at::empty({dout.size(1), x.size(1)}, options);
  at::Tensor bias = at::zeros({dout.size(1)}, options);
  if (x.size(0) == 0) weight.zero_();
  float* const sums = bias.mutable_data_ptr<float>();
  // The narrower factor is transposed: that costs more than packing.
  const bool turned = x.size(1) < dout.size(1);
  for (std::int64_t row = 0; row < x.size(0); row += kGradientRows) {
    const std::int64_t count = std::min(kGradientRows, x.size(0) - row);
    const SummedFactor gradients{dout.narrow(0, row, count), sums};
    const SummedFactor inputs{x.narrow(0, row, count)};
    const LinearRows left{transposed(turned ? inputs : gradients, dtype)};
    const at::Tensor right = packed(turned ? gradients : inputs, dtype);
    if (turned) {
      multiply_turned(left, right, row > 0, weight);
    } else {
      LinearTail tail;
      if (row > 0) tail.residual = weight;
      multiply_rows(left, right, tail, weight);
    }
  }
  return {weight, bias};
}

at::Tensor input_gradient(const at::Tensor& dout, const at::Tensor& weight) {
  at::Tensor dx = at::empty({dout.size(0), weight.size(1)}, dout.options());
  if (dx.numel() == 0) return dx;
  const at::Tensor rows = with_contiguous_rows(weight);
  multiply_rows({dout}, pack_rows(rows, factor_dtype(dout.scalar_type())), {}, dx);
  return dx;
}

}  // namespace ttt::ops::cpu
