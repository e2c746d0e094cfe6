// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/cpu_gemm.h"
#include "kernels/swiglu_fast_weights/backends.h"
#include "kernels/swiglu_fast_weights/cpu_kernel.h"

namespace ttt::ops::cpu {

/// Sizes of a call, and the type of its products' factors.
struct SwigluSizes {
  SwigluSizes(const at::Tensor& x, const at::Tensor& w0);
  std::int64_t batch, tokens, heads, width, hidden;
  std::int64_t matrices;  ///< batch * heads
  bool bf16;              ///< factors are bfloat16

  at::ScalarType dtype() const { return bf16 ? at::kBFloat16 : at::kFloat; }
  std::int64_t element_bytes() const { return bf16 ? 2 : 4; }
};

/// Activations [B, N, heads*D] as matrices of one head.
class HeadRows {
 public:
  HeadRows(const at::Tensor& x, const SwigluSizes& sizes);
  /// `count` tokens from `first` on of matrix `matrix` = sample * heads + head.
  PackSource rows(std::int64_t matrix, std::int64_t first, std::int64_t count) const;
  bool bf16() const { return bf16_; }

 private:
  char* data_;
  std::int64_t batch_stride_, stride_, heads_, width_, bytes_;
  bool bf16_;
};

/// All matrices of a tensor [B, heads, rows, columns] as right factors, or their transposes.
class PackedMatrices {
 public:
  PackedMatrices() = default;
  PackedMatrices(const at::Tensor& matrices, bool transposed, const SwigluSizes& sizes);
  const void* panel(std::int64_t matrix, std::int64_t panel) const;
  std::int64_t panel_stride() const { return packed_.stride(1); }

 private:
  at::Tensor packed_;       // [samples * heads or heads, panels, elements]
  std::int64_t count_ = 1;  // packed matrices; they repeat when all samples share them
};

/// What a pass over the tokens reads and writes. X meets W0 and W2, Y meets W1.
struct SwigluPass {
  const at::Tensor& x;
  const at::Tensor& y;
  at::Tensor rates;  ///< [B, heads, 3, N]; undefined: all 1
  const SwigluMatrices& weights;
  const SwigluMatrices* dsums = nullptr;  ///< of the gradient's backward pass
  const SwigluMatrices& sums;             ///< added to
  at::Tensor dx, dy, drates;              ///< undefined where not wanted
};

/// sums += the sums over the tokens of
///   forward:                 X^T (eta0 Ra), (eta1 H)^T Y, X^T (eta2 Rc)
///   with dsums (backward):   X^T dA, dR^T Y, X^T dC
/// and the gradients of x, y and the rates.
void run_swiglu_pass(const SwigluPass& pass);

}  // namespace ttt::ops::cpu
