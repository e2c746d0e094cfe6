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

}  // namespace ttt::layers
