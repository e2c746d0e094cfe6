// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrix products on the CPU for ops that cut their work into tiles: oneDNN's micro-kernels, which
// LibTorch carries (ATen/native/CPUBlas.h: brgemm), over right factors that are packed into panels.
// They take float at the processor's full vector width, and bfloat16 with float sums; every product
// runs on the calling thread, so that results don't depend on the number of threads.

#include "kernels/support/cpu_gemm_kernel.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace ttt::ops::cpu {

constexpr std::int64_t kPanelColumns = 64;

inline std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
/// Panels of a matrix with so many columns.
inline std::int64_t panel_count(std::int64_t columns) {
  return (columns + kPanelColumns - 1) / kPanelColumns;
}
/// Elements of one panel of a factor with `depth` rows: [depth, 64] of float; for bfloat16
/// [depth/2, 64, 2], rows in pairs. Rows are padded to an even number, columns to 64, by zeros.
inline std::int64_t panel_elements(std::int64_t depth) {
  return round_up(depth, 2) * kPanelColumns;
}

/// The instruction set in use multiplies bfloat16; else such factors must be converted to float.
bool has_bfloat16_products();

/// C [rows, columns] = A B, or C += A B with `add`; C is float.
struct PanelProduct {
  std::int64_t rows = 0, columns = 0;
  std::int64_t depth = 0;  ///< even for bfloat16
  const void* a = nullptr;
  std::int64_t a_stride = 0;  ///< of A's rows, whose elements are adjacent
  const void* b = nullptr;    ///< packed, panel after panel
  std::int64_t b_stride = 0;  ///< elements from one panel to the next
  float* c = nullptr;
  std::int64_t c_stride = 0;        ///< of C's rows inside a panel of columns
  std::int64_t c_panel_stride = 0;  ///< from one panel of columns to the next; 64 in a plain matrix
  bool add = false;
  bool bf16 = false;  ///< A and B are bfloat16
};
void multiply(const PanelProduct& product);

/// Calls body(i) for 0 <= i < count, over the threads; a body may call multiply().
template <typename Body>
void parallel_tasks(std::int64_t count, const Body& body);

/// Frees what the micro-kernels hold of the processor (tile registers), per thread.
void release_products();

/// Packing, for the instruction set in use.
const GemmKernels& gemm_kernels();

/// A batch of float matrices [batch, k, n] with any strides, times `scale`, as right factors of
/// `dtype` (float or bfloat16): [batch, panels, panel_elements(k)].
at::Tensor right_factors(const at::Tensor& b, float scale, at::ScalarType dtype);

/// C [batch, m, n] (+)= scale * A [batch, m, k] B [batch, k, n] of float with any strides; C has
/// contiguous rows. With `symmetric` (m = n and a product that is symmetric) half of it is computed
/// and mirrored, which asks for add = false.
struct BatchedProduct {
  const at::Tensor& a;
  const at::Tensor& b;
  const at::Tensor& c;
  float scale = 1;
  bool add = false;
  bool symmetric = false;
  bool bf16 = false;  ///< round the factors to bfloat16 where the processor multiplies it
};
void multiply_batched(const BatchedProduct& product);

template <typename Body>
void parallel_tasks(std::int64_t count, const Body& body) {
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
    release_products();
  });
}

/// The same for tasks of different length, long ones first: whoever is free takes the next one.
template <typename Body>
void parallel_uneven_tasks(std::int64_t count, const Body& body) {
  std::atomic<std::int64_t> next = 0;
  parallel_tasks(std::min<std::int64_t>(count, at::get_num_threads()), [&](std::int64_t) {
    for (std::int64_t i = next++; i < count; i = next++) body(i);
  });
}

}  // namespace ttt::ops::cpu
