// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/backend.h"
#include "layers/trace.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ttt::vision {

/// Height and width of a token grid; tokens are in row-major order.
struct Grid {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t tokens() const { return height * width; }
};

/// What the inner step did in one TTT block: the loss of each inner model before and after its one
/// gradient step, and the size of that step. Losses are means over the batch, and over heads
/// (gated linear) or channels (depthwise).
struct InnerStepReport {
  std::string layer;       ///< e.g. "blocks.3.attn"
  std::int64_t steps = 1;  ///< gradient steps taken; 0 when the update is switched off
  double learning_rate = 1.0;
  double gated_loss_before = 0;  ///< −(1/3)·mean over tokens of ⟨v̂,v⟩
  double gated_loss_after = 0;
  double gated_gradient_norm = 0;  ///< RMS over columns of ‖g‖₂ before the clip, both matrices
  double gated_update_ratio = 0;   ///< ‖W−w‖_F / ‖w‖_F, both matrices together
  double depthwise_loss_before = 0;
  double depthwise_loss_after = 0;
  double depthwise_gradient_norm = 0;  ///< RMS over kernels of ‖g‖₂ before the clip
  double depthwise_update_ratio = 0;   ///< ‖W−w‖_F / ‖w‖_F
};

/// What a forward pass may use and must report; never model state.
struct ForwardContext {
  ops::Backend backend = ops::Backend::automatic;
  /// false leaves the inner models at their trained initial weights (an ablation).
  bool inner_update = true;
  /// Factors [blocks, 2, B] of the attention and MLP branches (stochastic depth); undefined for
  /// none.
  at::Tensor branch_factors;
  /// Training: keep the inputs of blocks only and run each block again in the backward pass.
  bool recompute = false;
  layers::Trace trace;                              ///< may be empty
  std::vector<InnerStepReport>* reports = nullptr;  ///< one entry a TTT block is appended

  void emit(const std::string& name, const at::Tensor& value) const {
    if (trace) trace(name, value);
  }
};

}  // namespace ttt::vision
