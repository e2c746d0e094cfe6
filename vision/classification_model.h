// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vision/classification_output.h"
#include "vision/forward_context.h"

#include <torch/nn/module.h>

namespace ttt::vision {

/// An image classifier whose modules carry the names of the official checkpoints.
class ClassificationModel : public torch::nn::Module {
 public:
  /// images [B,3,H,W], normalised, of the model's floating type. Height and width must be multiples
  /// of size_multiple(); throws Error(usage) otherwise.
  virtual ClassificationOutput forward(const at::Tensor& images,
                                       const ForwardContext& context) const = 0;
  /// Number of residual blocks, over all stages.
  virtual std::int64_t blocks() const = 0;
  /// Height and width must be multiples of this many pixels.
  virtual std::int64_t size_multiple() const = 0;
  /// Fills all weights as the official training code does before its first step.
  virtual void initialize(std::uint64_t seed) = 0;
  /// One-time changes that speed up evaluation (batch norms folded). Training is not possible
  /// after.
  virtual void prepare_for_inference() = 0;
};

/// Throws Error(usage) that names the nearest legal size unless both sides are positive multiples
/// of `multiple`.
void check_image_size(std::int64_t width, std::int64_t height, std::int64_t multiple);

}  // namespace ttt::vision
