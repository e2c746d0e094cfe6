// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/holders.h"

namespace ttt::layers {

/// x + second(activation(first(norm(x)))), the MLP of a pre-norm transformer, written into x
/// [..., C], a few rows at a time: what is between the maps never exists for all rows, stays in the
/// cache, and needs no memory of its own. Returns false, having done nothing, where only the
/// separate steps can compute it: without packed weights (see Packable), on other devices than the
/// CPU, under autocast, with gradients, or when the rows of x can't be written one after another.
bool add_feed_forward(const at::Tensor& x, const LayerNorm& norm, const Linear& first,
                      ops::LinearActivation activation, const Linear& second, ops::Backend backend);

/// The layers of an MLP with a depthwise convolution inside.
struct DepthwiseFeedForward {
  const LayerNorm& norm;
  const Linear& first;
  const DepthwiseConv& convolution;
  const Linear& second;
};

/// The same with z + convolution(z) and a second GELU between the maps, for x [B,h,w,C] and a few
/// grid rows at a time (H-ViT3). Also returns false where rows are too few to give every thread
/// enough of them.
bool add_depthwise_feed_forward(const at::Tensor& x, const DepthwiseFeedForward& layers,
                                ops::Backend backend);

}  // namespace ttt::layers
