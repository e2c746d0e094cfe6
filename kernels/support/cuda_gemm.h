// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/cuda_types.h"

namespace ttt::ops::cuda {

/// A matrix per sample and head, in memory: element (i, j) is i * row + j * column elements behind
/// the matrix, of which one stride is 1; samples and heads are `sample` and `head` elements apart.
struct GemmMatrix {
  const void* data = nullptr;
  DataType type = DataType::float32;
  std::int64_t row = 0, column = 1;
  std::int64_t sample = 0, head = 0;

  GemmMatrix transposed() const { return {data, type, column, row, sample, head}; }
};

/// out [rows, columns] = alpha * A [rows, depth] B [depth, columns] + beta * D, per sample and
/// head. Factors are multiplied as `factors` says (float matrices may be rounded to bfloat16, for
/// the tensor cores), sums are float. D (float, or null data: none) may be out.
/// The order of the sums depends on rows, columns and depth alone.
struct GemmLaunch {
  DataType factors = DataType::float32;
  std::int64_t samples = 1, heads = 1;
  std::int64_t rows = 0, columns = 0, depth = 0;
  GemmMatrix a, b, d, out;
  float alpha = 1, beta = 1;
};
void launch_gemm(const GemmLaunch& launch, const Stream& stream);

}  // namespace ttt::ops::cuda
