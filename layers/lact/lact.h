// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/newton_schulz/newton_schulz.h"
#include "layers/lact/fast_weights.h"
#include "layers/lact/schedule.h"
#include "layers/process_sum.h"

namespace ttt::layers {

/// What happens to a chunk's gradient before it is added.
struct LactOptions {
  /// Newton-Schulz on the gradient (Muon); with no steps it is only divided by its Frobenius norm.
  /// Without it the raw gradient is added.
  bool orthogonalise = true;
  std::vector<ops::NewtonSchulzStep> steps;
  bool bf16_newton_schulz = false;
  /// The lengths that updates scale back to are constants for the outer gradient (lact_nvs); the
  /// minimal and language code lets gradients through.
  bool detach_norms = true;
  /// Keep the lengths that a carried state started with. The official code measures them again in
  /// every call, so that they shrink by a factor 1 - 1e-5 / length each time.
  bool keep_norms = false;
  /// The published bidirectional function's defect: the new weights are NS(G) + G, scaled, and the
  /// old ones are lost. Only for comparisons with it.
  bool published_defect = false;
  ops::Backend backend = ops::Backend::automatic;
  /// Context parallelism: every chunk's tokens are spread over processes, which sum the raw
  /// gradients before momentum and Newton-Schulz. Empty: one process.
  SumOverProcesses sum;
};

/// The tokens of a sequence. Operations without update need only q, those without apply all but q.
struct LactTokens {
  at::Tensor q, k, v;   ///< [B, N, heads*D]; slices of a projection are read in place
  at::Tensor rates;     ///< [B, N, 3, heads], for w0, w1, w2 (lact_learning_rates)
  at::Tensor momentum;  ///< [B, N, heads] in 0..1, averaged over each chunk; undefined: none
};

struct LactResult {
  at::Tensor output;  ///< [B, applied tokens, heads*D] in q's dtype, in the order of the schedule
  FastWeights state;
};

/// Runs the schedule from `start` (whose weights may have batch 1 for all samples). Weights stay
/// float, or double with double tokens. Activations are tiled, so that the memory beside inputs and
/// outputs doesn't grow with N. Differentiable in everything.
/// Throws Error(usage) for shapes and ranges that don't fit.
LactResult run_lact(const FastWeights& start, const LactTokens& tokens,
                    const LactSchedule& schedule, const LactOptions& options);

/// One update with a given raw gradient (see merge_gradients). `state` must have norms;
/// `momentum_factor` [B, heads, 1, 1] scales the momentum so far, undefined: no momentum.
FastWeights lact_update(const FastWeights& state, const ops::SwigluMatrices& gradient,
                        const at::Tensor& momentum_factor, const LactOptions& options);

/// eta = softplus(x + log(exp(base) - 1)) in float (double for double): base where x is 0.
at::Tensor lact_learning_rates(const at::Tensor& x, double base);

/// x / (||x||_2 + 1e-5) per head, x [B, N, heads*D], in x's dtype.
at::Tensor lact_normalise(const at::Tensor& x, std::int64_t heads);

}  // namespace ttt::layers
