// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/cpu_gemm.h"

#include "kernels/support/cpu_isa.h"

#include <ATen/native/CPUBlas.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace ttt::ops::cpu {
namespace {

// Rows of a micro-kernel call: with a panel of 64 columns the block of C stays in the first-level
// cache.
constexpr std::int64_t kCallRows = 128;
constexpr std::int64_t kBlockRows = 64;  // of a task

template <typename T>
void multiply_as(const PanelProduct& p) {
  const auto* a = static_cast<const T*>(p.a);
  const auto* b = static_cast<const T*>(p.b);
  for (std::int64_t panel = 0; panel * kPanelColumns < p.columns; ++panel) {
    const std::int64_t columns = std::min(kPanelColumns, p.columns - panel * kPanelColumns);
    for (std::int64_t row = 0; row < p.rows; row += kCallRows)
      at::native::cpublas::brgemm(std::min(kCallRows, p.rows - row), columns, p.depth, p.a_stride,
                                  kPanelColumns, p.c_stride, p.add, a + row * p.a_stride,
                                  b + panel * p.b_stride,
                                  p.c + row * p.c_stride + panel * p.c_panel_stride, p.bf16);
  }
}

/// Matrix i of a batch of float matrices, rows adjacent.
PackSource source_of(const at::Tensor& matrices, std::int64_t i, bool transposed) {
  const int rows = transposed ? 2 : 1, columns = transposed ? 1 : 2;
  return {matrices.const_data_ptr<float>() + i * matrices.stride(0), matrices.stride(rows),
          matrices.size(rows), matrices.size(columns), false};
}

bool has_adjacent(const at::Tensor& matrices, int dimension) {
  return matrices.size(dimension) <= 1 || matrices.stride(dimension) == 1;
}

/// A batch [batch, m, k] as left factors in `dtype`, rows round_up(k, 2) apart.
at::Tensor left_factors(const at::Tensor& a, at::ScalarType dtype) {
  if (dtype == at::kFloat && has_adjacent(a, 2)) return a;
  const std::int64_t m = a.size(1), k = a.size(2), stride = round_up(k, 2);
  const bool bf16 = dtype == at::kBFloat16, transposed = !has_adjacent(a, 2);
  const at::Tensor from = transposed && !has_adjacent(a, 1) ? a.contiguous() : a;
  const bool rows_adjacent = has_adjacent(from, 2);
  const at::Tensor out = at::zeros({a.size(0), m, stride}, a.options().dtype(dtype));
  const auto bytes = static_cast<std::int64_t>(out.element_size());
  parallel_tasks(a.size(0), [&](std::int64_t i) {
    void* to = static_cast<char*>(out.mutable_data_ptr()) + i * m * stride * bytes;
    if (rows_adjacent) {
      gemm_kernels().convert(source_of(from, i, false), to, stride, bf16);
    } else {
      gemm_kernels().transpose(source_of(from, i, true), to, stride, bf16);
    }
  });
  return out;
}

/// Copies what is right of the diagonal blocks to the left of them.
void mirror(float* c, std::int64_t stride, std::int64_t n, std::int64_t row_block) {
  constexpr std::int64_t kTile = 16;
  const std::int64_t end = std::min(n, (row_block + 1) * kBlockRows);
  for (std::int64_t j = 0; j < row_block * kBlockRows; j += kTile)
    for (std::int64_t row = row_block * kBlockRows; row < end; ++row)
      for (std::int64_t column = j; column < j + kTile; ++column)
        c[row * stride + column] = c[column * stride + row];
}

}  // namespace

bool has_bfloat16_products() {
#if defined(__x86_64__)
  static const bool processor = __builtin_cpu_supports("avx512bf16") != 0;
  return processor && cpu_isa() == CpuIsa::avx512;
#else
  return false;
#endif
}

void multiply(const PanelProduct& product) {
  if (product.bf16) {
    multiply_as<at::BFloat16>(product);
  } else {
    multiply_as<float>(product);
  }
}

void release_products() {
  at::native::cpublas::brgemm_release(true);
}

const GemmKernels& gemm_kernels() {
  return select_kernels(baseline::gemm_kernels, avx2::gemm_kernels, avx512::gemm_kernels);
}

at::Tensor right_factors(const at::Tensor& b, float scale, at::ScalarType dtype) {
  const bool plain = has_adjacent(b, 2);
  const at::Tensor from = plain || has_adjacent(b, 1) ? b : b.contiguous();
  const std::int64_t panels = panel_count(b.size(2)), size = panel_elements(b.size(1));
  const at::Tensor out = at::empty({b.size(0), panels, size}, b.options().dtype(dtype));
  const bool bf16 = dtype == at::kBFloat16, rows_adjacent = has_adjacent(from, 2);
  const auto bytes = static_cast<std::int64_t>(out.element_size());
  parallel_tasks(b.size(0) * panels, [&](std::int64_t task) {
    const std::int64_t i = task / panels, panel = task % panels, first = panel * kPanelColumns;
    void* to = static_cast<char*>(out.mutable_data_ptr()) + task * size * bytes;
    PackSource source = source_of(from, i, !rows_adjacent);
    const auto* data = static_cast<const float*>(source.data);
    std::int64_t& columns = rows_adjacent ? source.columns : source.rows;
    columns = std::min(kPanelColumns, columns - first);
    source.data = data + (rows_adjacent ? first : first * source.stride);
    (rows_adjacent ? gemm_kernels().pack : gemm_kernels().pack_transposed)(source, scale, size, to,
                                                                           bf16);
  });
  return out;
}

void multiply_batched(const BatchedProduct& product) {
  static_assert(kBlockRows == kPanelColumns);  // symmetric products skip panels by row block
  const at::Tensor& c = product.c;
  const std::int64_t batch = c.size(0), m = c.size(1), n = c.size(2), k = product.a.size(2);
  if (c.numel() == 0) return;
  const bool bf16 = product.bf16 && has_bfloat16_products();
  const at::ScalarType dtype = bf16 ? at::kBFloat16 : at::kFloat;
  const at::Tensor a = left_factors(product.a, dtype);
  const at::Tensor b = right_factors(product.b, product.scale, dtype);
  const std::int64_t blocks = (m + kBlockRows - 1) / kBlockRows;
  const auto bytes = static_cast<std::int64_t>(a.element_size());
  float* out = c.mutable_data_ptr<float>();
  parallel_tasks(batch * blocks, [&](std::int64_t task) {
    const std::int64_t i = task / blocks, block = task % blocks, row = block * kBlockRows;
    const std::int64_t skipped = product.symmetric ? block : 0;
    PanelProduct p;
    p.rows = std::min(kBlockRows, m - row);
    p.columns = n - skipped * kPanelColumns;
    p.depth = bf16 ? round_up(k, 2) : k;
    p.a_stride = a.stride(1);
    p.a =
        static_cast<const char*>(a.const_data_ptr()) + (i * a.stride(0) + row * p.a_stride) * bytes;
    p.b_stride = panel_elements(k);
    p.b = static_cast<const char*>(b.const_data_ptr()) +
          (i * b.stride(0) + skipped * p.b_stride) * bytes;
    p.c = out + i * c.stride(0) + row * c.stride(1) + skipped * kPanelColumns;
    p.c_stride = c.stride(1);
    p.c_panel_stride = kPanelColumns;
    p.add = product.add;
    p.bf16 = bf16;
    multiply(p);
  });
  if (!product.symmetric || blocks == 1) return;
  parallel_tasks(batch * blocks, [&](std::int64_t task) {
    mirror(out + task / blocks * c.stride(0), c.stride(1), n, task % blocks);
  });
}

}  // namespace ttt::ops::cpu
