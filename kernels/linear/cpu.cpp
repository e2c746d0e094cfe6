// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/backends.h"
#include "kernels/linear/cpu_kernel.h"
#include "kernels/support/cpu_gemm.h"
#include "kernels/support/cpu_isa.h"
#include "kernels/support/scratch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

namespace ttt::ops::cpu {
namespace {

// A tile of sums [128, 64] stays in the first-level cache, its rows of x in the second.
constexpr std::int64_t kTileRows = 128;
constexpr std::int64_t kDepth = 768;          // of one product: its panel stays there too
constexpr std::int64_t kGradientRows = 4096;  // rows whose transposed copies are held at a time

const LinearKernels& kernels() {
  return select_kernels(baseline::linear_kernels, avx2::linear_kernels, avx512::linear_kernels);
}

/// The dtype in which factors are multiplied.
at::ScalarType factor_dtype(at::ScalarType activations) {
  return activations == at::kBFloat16 && has_bfloat16_products() ? at::kBFloat16 : at::kFloat;
}

PackSource source_of(const at::Tensor& rows) {
  return {rows.const_data_ptr(), rows.stride(0), rows.size(0), rows.size(1),
          rows.scalar_type() == at::kBFloat16};
}

const void* offset(const void* data, std::int64_t elements, bool bf16) {
  return static_cast<const char*>(data) + elements * (bf16 ? 2 : 4);
}

/// A matrix from (row, column) on; none for an undefined tensor.
LinearMatrix part_of(const at::Tensor& matrix, std::int64_t row, std::int64_t column) {
  if (!matrix.defined()) return {};
  const bool bf16 = matrix.scalar_type() == at::kBFloat16;
  const void* data = offset(matrix.const_data_ptr(), row * matrix.stride(0) + column, bf16);
  return {const_cast<void*>(data), matrix.stride(0), bf16};
}

/// The rows of a product's left factor, a tile at a time: in place, or as a copy that is
/// normalised, in another dtype, or with an even number of columns, which bfloat16 needs.
class LeftRows {
 public:
  LeftRows(const LinearRows& rows, at::ScalarType dtype)
      : source_(source_of(rows.x)), norm_(rows.norm), bf16_(dtype == at::kBFloat16) {
    depth_ = bf16_ ? round_up(source_.columns, 2) : source_.columns;
    copies_ = norm_.defined() || source_.bf16 != bf16_ || depth_ != source_.columns;
    stride_ = copies_ ? round_up(depth_, 2) : source_.stride;
  }
  bool bf16() const { return bf16_; }
  std::int64_t depth() const { return depth_; }
  std::int64_t stride() const { return stride_; }
  std::int64_t scratch_floats() const { return copies_ ? kTileRows * stride_ : 0; }
  const void* rows(std::int64_t first, std::int64_t count, float* scratch) const {
    const void* from = offset(source_.data, first * source_.stride, source_.bf16);
    if (!copies_) return from;
    if (norm_.defined()) {
      const float* bias = norm_.bias.defined() ? norm_.bias.const_data_ptr<float>() : nullptr;
      kernels().normalise({count,
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

 private:
  PackSource source_;
  LinearNorm norm_;
  bool bf16_;
  bool copies_ = false;
  std::int64_t depth_ = 0, stride_ = 0;
};

/// Sums [rows, up to 64] of one panel.
void multiply_tile(const LeftRows& left, const void* rows, const void* panel, PanelProduct p) {
  if (left.depth() == 0) std::memset(p.c, 0, sizeof(float) * p.rows * kPanelColumns);
  p.a_stride = left.stride();
  p.b_stride = panel_elements(left.depth());
  p.c_stride = p.c_panel_stride = kPanelColumns;
  p.bf16 = left.bf16();
  for (std::int64_t k = 0; k < left.depth(); k += kDepth) {
    p.depth = std::min(kDepth, left.depth() - k);
    p.a = offset(rows, k, p.bf16);
    p.b = offset(panel, k * kPanelColumns, p.bf16);
    p.add = k > 0;
    multiply(p);
  }
}

/// A tile of a product: its place there, and its sums [rows, 64].
struct Tile {
  std::int64_t row = 0, column = 0;
  std::int64_t rows = 0, columns = 0;
  float* sums = nullptr;
};

/// Asks for what is read or written behind a product, so that it comes while that is computed.
void prefetch(const LinearMatrix& matrix, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kLine = 64;
  if (matrix.data == nullptr) return;
  const std::int64_t element = matrix.bf16 ? 2 : 4;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t byte = 0; byte < columns * element; byte += kLine)
      __builtin_prefetch(static_cast<const char*>(matrix.data) + row * matrix.stride * element +
                         byte);
}

/// The tiles of x P for packed P [in, columns]: before(tile), then after(tile) with its sums. Every
/// tile is computed by one thread.
template <typename Before, typename After>
void multiply_tiles(const LinearRows& factor, const at::Tensor& panels, std::int64_t columns,
                    const Before& before, const After& after) {
  const LeftRows left(factor, panels.scalar_type());
  const std::int64_t rows = factor.x.size(0), count = panel_count(columns);
  const std::int64_t blocks = (rows + kTileRows - 1) / kTileRows;
  const auto scratch_floats =
      static_cast<std::size_t>(kTileRows * kPanelColumns + left.scratch_floats());
  at::parallel_for(0, blocks * count, 1, [&](std::int64_t begin, std::int64_t end) {
    float* const sums = thread_scratch(scratch_floats);
    std::int64_t current = -1;
    const void* from = nullptr;
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t block = task / count, panel = task % count;
      Tile tile{block * kTileRows, panel * kPanelColumns};
      tile.rows = std::min(kTileRows, rows - tile.row);
      tile.columns = std::min(kPanelColumns, columns - tile.column);
      tile.sums = sums;
      if (block != current) from = left.rows(tile.row, tile.rows, sums + kTileRows * kPanelColumns);
      current = block;
      before(tile);
      PanelProduct p;
      p.rows = tile.rows;
      p.columns = tile.columns;
      p.c = sums;
      multiply_tile(left, from,
                    offset(panels.const_data_ptr(), panel * panels.stride(0), left.bf16()), p);
      after(tile);
    }
    release_products();
  });
}

/// out = tail(x P) for packed P [in, out].
void multiply_rows(const LinearRows& factor, const at::Tensor& panels, const LinearTail& tail,
                   const at::Tensor& out) {
  const float* bias = tail.bias.defined() ? tail.bias.const_data_ptr<float>() : nullptr;
  multiply_tiles(
      factor, panels, out.size(1),
      [&](const Tile& t) {
        for (const at::Tensor& matrix : {tail.residual, tail.before, out})
          prefetch(part_of(matrix, t.row, t.column), t.rows, t.columns);
      },
      [&](const Tile& t) {
        kernels().finish({t.sums, kPanelColumns, t.rows, t.columns,
                          bias == nullptr ? nullptr : bias + t.column, tail.activation,
                          part_of(tail.residual, t.row, t.column),
                          part_of(tail.before, t.row, t.column), part_of(out, t.row, t.column)});
      });
}

/// out (+)= (x P)^T in float.
void multiply_turned(const LinearRows& factor, const at::Tensor& panels, bool add,
                     const at::Tensor& out) {
  multiply_tiles(
      factor, panels, out.size(0),
      [&](const Tile& t) { prefetch(part_of(out, t.column, t.row), t.columns, t.rows); },
      [&](const Tile& t) {
        kernels().write_transposed(
            {t.sums, kPanelColumns, t.rows, t.columns,
             out.mutable_data_ptr<float>() + t.column * out.stride(0) + t.row, out.stride(0), add});
      });
}

/// A matrix [depth, columns] as right factor.
at::Tensor pack_rows(const at::Tensor& matrix, at::ScalarType dtype) {
  const std::int64_t panels = panel_count(matrix.size(1));
  const at::Tensor out =
      at::empty({panels, panel_elements(matrix.size(0))}, matrix.options().dtype(dtype));
  const bool bf16 = dtype == at::kBFloat16;
  const PackSource source = source_of(matrix);
  parallel_tasks(panels, [&](std::int64_t panel) {
    PackSource part = source;
    part.data = offset(source.data, panel * kPanelColumns, source.bf16);
    part.columns = std::min(kPanelColumns, source.columns - panel * kPanelColumns);
    gemm_kernels().pack(
        part, 1, out.stride(0),
        const_cast<void*>(offset(out.const_data_ptr(), panel * out.stride(0), bf16)), bf16);
  });
  return out;
}

/// The transpose of a matrix [rows, columns] as left factor, [columns, rows rounded up to even].
at::Tensor transposed(const at::Tensor& matrix, at::ScalarType dtype) {
  const PackSource source = source_of(matrix);
  const std::int64_t stride = round_up(source.rows, 2);
  const at::Tensor out = at::empty({source.columns, stride}, matrix.options().dtype(dtype));
  const bool bf16 = dtype == at::kBFloat16;
  parallel_tasks(panel_count(source.columns), [&](std::int64_t task) {
    const std::int64_t first = task * kPanelColumns;
    PackSource part = source;
    part.data = offset(source.data, first, source.bf16);
    part.columns = std::min(kPanelColumns, source.columns - first);
    gemm_kernels().transpose(
        part, const_cast<void*>(offset(out.const_data_ptr(), first * stride, bf16)), stride, bf16);
  });
  return bf16 ? out : out.narrow(1, 0, source.rows);
}

/// The gradient before the activation, in the dtype of x.
at::Tensor gradient_before(const LinearSaved& saved, const at::Tensor& dout) {
  if (saved.activation == LinearActivation::none && dout.scalar_type() == saved.x.scalar_type())
    return dout;
  at::Tensor out = at::empty(dout.sizes(), saved.x.options());
  constexpr std::int64_t kRows = 64;
  parallel_tasks((dout.size(0) + kRows - 1) / kRows, [&](std::int64_t task) {
    const std::int64_t row = task * kRows;
    LinearSlope slope;
    slope.rows = std::min(kRows, dout.size(0) - row);
    slope.columns = dout.size(1);
    slope.activation = saved.activation;
    slope.dout = part_of(dout, row, 0);
    if (saved.activation != LinearActivation::none) slope.before = part_of(saved.before, row, 0);
    slope.out = part_of(out, row, 0);
    kernels().slope(slope);
  });
  return out;
}

/// At B [m, n] of A [rows, m] and B [rows, n], in float.
at::Tensor gram(const at::Tensor& a, const at::Tensor& b) {
  const at::ScalarType dtype = factor_dtype(a.scalar_type());
  at::Tensor sums = at::empty({a.size(1), b.size(1)}, a.options().dtype(at::kFloat));
  if (a.size(0) == 0) return sums.zero_();
  // The narrower factor is transposed: that costs more than packing.
  const bool turned = b.size(1) < a.size(1);
  const at::Tensor &left = turned ? b : a, &right = turned ? a : b;
  for (std::int64_t row = 0; row < a.size(0); row += kGradientRows) {
    const std::int64_t count = std::min(kGradientRows, a.size(0) - row);
    const LinearRows factor{transposed(left.narrow(0, row, count), dtype)};
    const at::Tensor panels = pack_rows(right.narrow(0, row, count), dtype);
    if (turned) {
      multiply_turned(factor, panels, row > 0, sums);
    } else {
      multiply_rows(factor, panels, {{}, {}, row > 0 ? sums : at::Tensor(), {}}, sums);
    }
  }
  return sums;
}

at::Tensor column_sums(const at::Tensor& matrix) {
  at::Tensor sums = at::empty({matrix.size(1)}, matrix.options().dtype(at::kFloat));
  float* const to = sums.mutable_data_ptr<float>();
  parallel_tasks(panel_count(matrix.size(1)), [&](std::int64_t panel) {
    const std::int64_t column = panel * kPanelColumns;
    kernels().column_sums(part_of(matrix, 0, column), matrix.size(0),
                          std::min(kPanelColumns, matrix.size(1) - column), to + column);
  });
  return sums;
}

}  // namespace

at::Tensor pack_linear(const at::Tensor& weight, at::ScalarType dtype) {
  const at::Tensor rows = weight.stride(1) == 1 ? weight : weight.contiguous();
  const std::int64_t panels = panel_count(rows.size(0));
  const at::ScalarType factors = factor_dtype(dtype);
  at::Tensor out = at::empty({panels, panel_elements(rows.size(1))}, rows.options().dtype(factors));
  const bool bf16 = factors == at::kBFloat16;
  const PackSource source = source_of(rows);
  parallel_tasks(panels, [&](std::int64_t panel) {
    const std::int64_t first = panel * kPanelColumns;
    PackSource part = source;
    part.data = offset(source.data, first * source.stride, source.bf16);
    part.rows = std::min(kPanelColumns, source.rows - first);
    gemm_kernels().pack_transposed(
        part, 1, out.stride(0),
        const_cast<void*>(offset(out.const_data_ptr(), panel * out.stride(0), bf16)), bf16);
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
  if (needs.x) {
    const at::Tensor rows = saved.weight.stride(1) == 1 ? saved.weight : saved.weight.contiguous();
    result.dx = at::empty(saved.x.sizes(), saved.x.options());
    if (result.dx.numel() > 0)
      multiply_rows({dz}, pack_rows(rows, factor_dtype(saved.x.scalar_type())), {}, result.dx);
  }
  if (!needs.weight) return result;
  result.dweight = gram(dz, saved.x);
  result.dbias = column_sums(dz);
  return result;
}

}  // namespace ttt::ops::cpu
