// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/backend.h"
#include "layers/trace.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ttt::vision {

class RopeTables;

/// Height and width of a token grid; tokens are in row-major order.
struct Grid {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t tokens() const { return height * width; }
};

/// What the inner training did to one inner model: its loss over all tokens before and after, and
/// the size of the change. Losses are means over the batch, and over heads (channels for a
/// depthwise convolution).
struct InnerModelReport {
  std::string model;       ///< "gated_linear", "depthwise", …
  double loss_before = 0;  ///< published: −(1/3)·mean over tokens of ⟨v̂,v⟩
  double loss_after = 0;
  double gradient_norm = 0;  ///< RMS over columns of ‖g‖₂ before the clip, first step
  double update_ratio = 0;   ///< ‖W−w‖_F / ‖w‖_F, all weights together
};

/// The inner training of one TTT block.
struct InnerStepReport {
  std::string layer;       ///< e.g. "blocks.3.attn"
  std::int64_t steps = 1;  ///< gradient steps taken; 0 when the update is switched off
  double learning_rate = 1.0;
  std::vector<InnerModelReport> models;  ///< published: gated_linear, depthwise
};

/// Which code computes the gradients of the inner step outside the published block.
enum class InnerGradients {
  automatic,    ///< our own operations where they fit, else closed forms
  closed_form,  ///< closed forms in LibTorch's operations
  autograd,     ///< LibTorch's autograd; slow, a check of the others, not in inference mode
};

/// What a forward pass may use and must report; never model state.
struct ForwardContext {
  ops::Backend backend = ops::Backend::automatic;
  /// false leaves the inner models at their trained initial weights (an ablation).
  bool inner_update = true;
  InnerGradients inner_gradients = InnerGradients::automatic;
  /// Factors [blocks, 2, B] of the attention and MLP branches (stochastic depth); undefined for
  /// none.
  at::Tensor branch_factors;
  /// Training: keep the inputs of blocks only and run each block again in the backward pass.
  bool recompute = false;
  /// Tables of earlier passes, to which this one adds its own; null: made for this pass alone.
  std::shared_ptr<RopeTables> rope_tables;
  layers::Trace trace;                              ///< may be empty
  std::vector<InnerStepReport>* reports = nullptr;  ///< one entry a TTT block is appended

  void emit(const std::string& name, const at::Tensor& value) const {
    if (trace) trace(name, value);
  }
};

}  // namespace ttt::vision
