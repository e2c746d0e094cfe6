// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/progress.h"
#include "nvs/model/lvsm.h"
#include "nvs/model/scene_state.h"

namespace ttt::nvs {

/// How a renderer computes.
struct RendererOptions {
  /// Float, BFloat16 (matrix products and what lies between them; the residual stream, norms and
  /// states stay float) or Double (for checks).
  at::ScalarType dtype = at::kFloat;
  at::Device device{at::kCPU};
  ops::Backend backend = ops::Backend::automatic;
  bool bf16_newton_schulz = false;
  /// Tokens in work at a time: whole views up to this many, or one view. Memory beside inputs and
  /// the residual stream grows with it, results change by summation order only.
  std::int64_t tile_tokens = 2048;
};

/// What one sub-layer's update did, for people: sums over heads, means over tokens.
struct FastWeightReport {
  std::string layer;
  double learning_rate = 0;  ///< mean over tokens, heads and matrices
  double loss_before = 0;    ///< mean of -f(k) v
  double loss_after = 0;
  double gradient_norm = 0;  ///< of the three raw gradients together
  double weight_norm = 0;
  double update_ratio = 0;  ///< length of the change over that of the weights
};

struct ReconstructContext {
  ProgressCallback progress;
  /// Filled with a report per sub-layer; costs two more applies of every token.
  std::vector<FastWeightReport>* reports = nullptr;
};

/// Runs a LaCT-LVSM model without gradients, tile by tile. Input views go through all blocks once:
/// between two updates a tile is applied with the new weights, runs through attention and MLPs and
/// adds its gradient while it is in cache. What follows the last update is not computed; targets
/// need only queries, and views that fit a tile are batched. Peak memory is the residual stream
/// [N, dim], the states, and one tile.
class LvsmRenderer {
 public:
  /// Takes what it needs from the model; matrices are shared with it where they stay as they are.
  LvsmRenderer(const LvsmModel& model, const RendererOptions& options);
  ~LvsmRenderer();
  LvsmRenderer(LvsmRenderer&&) noexcept;
  LvsmRenderer& operator=(LvsmRenderer&&) noexcept;

  /// One update of the fast weights with all these views. From `start` (which may be null: the
  /// learned weights): adding views to a state is well defined, but not what one update with all
  /// views would give. Throws Error(usage) for pictures and cameras that don't fit and
  /// Error(interrupted).
  FastWeightMap reconstruct(const PosedViews& views, const FastWeightMap* start = nullptr,
                            const ReconstructContext& context = {}) const;
  /// The learned fast weights, as no view would have changed them.
  FastWeightMap initial_state() const;

  /// Pictures [V, 3, H, W] of these cameras in 0 to 1, in float (double for double). Every view is
  /// independent of the others, and of any size that the patches divide. Throws Error(usage), and
  /// Error(weights) when the values are no numbers.
  at::Tensor render(const FastWeightMap& state, const CameraTensors& cameras) const;

  const LvsmConfig& config() const;
  const RendererOptions& options() const;

  struct Parts;  ///< private to the implementation

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace ttt::nvs
