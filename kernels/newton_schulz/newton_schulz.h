// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/backend.h"

#include <ATen/core/Tensor.h>

#include <vector>

namespace ttt::ops {

/// One Newton-Schulz iteration, X <- a X + (b A + c A A) X with A = X X^T.
struct NewtonSchulzStep {
  double a = 0, b = 0, c = 0;
};

/// The set that lact_nvs and the video models of a1600012888/LaCT repeat in every iteration. Its
/// singular values end between 0.7 and 1.1, and weights trained with it need it.
std::vector<NewtonSchulzStep> newton_schulz_repeated(std::int64_t steps);
/// The five different iterations of its minimal_implementations and language models.
std::vector<NewtonSchulzStep> newton_schulz_five();

struct NewtonSchulzOptions {
  std::vector<NewtonSchulzStep> steps;  ///< none: only the division by the norm
  /// Factors of the products are rounded to bfloat16, sums stay float; on processors without
  /// bfloat16 products this changes nothing. The reference rounds every intermediate result, as
  /// the official code does outside autocast.
  bool bf16 = false;
};

/// Approximately orthogonal matrix with the singular vectors of each of g's matrices:
/// X = g / (||g||_F + 1e-7), then the iterations, on the transpose where there are more rows than
/// columns. g [..., m, n], result the same shape in float (double for double). A zero matrix stays
/// zero. Differentiable; the backward pass repeats the iterations instead of keeping them.
/// Throws Error(usage) on fewer than two dimensions and Error(device) as `resolve` does.
at::Tensor newton_schulz(const at::Tensor& g, const NewtonSchulzOptions& options,
                         Backend backend = Backend::automatic);

}  // namespace ttt::ops
