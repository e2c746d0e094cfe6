// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/holders.h"
#include "vision/forward_context.h"

#include <functional>

namespace ttt::vision {

/// Conditional position encoding: x + depthwise 3×3 convolution of x on the grid. x [B,N,C].
at::Tensor position_encoding(const at::Tensor& x, const layers::DepthwiseConv& convolution,
                             Grid grid, const ForwardContext& context, const std::string& name);

/// The inside of H-ViT3's MLP: gelu(x + depthwise 3×3 convolution of x). x [B,N,C].
at::Tensor depthwise_gelu(const at::Tensor& x, const layers::DepthwiseConv& convolution, Grid grid,
                          const ForwardContext& context);

/// block(x), or the same with its inner results recomputed in the backward pass if the context says
/// so. The block is kept for that long, so it must own all it needs.
at::Tensor run_block(std::function<at::Tensor(const at::Tensor&)> block, const at::Tensor& x,
                     const ForwardContext& context);

/// View of tokens [B,N,C] as [B,h,w,C].
at::Tensor as_grid(const at::Tensor& tokens, Grid grid);

/// View of tokens [B,N,C] as a channels-last map [B,C,h,w], and back. Nothing is copied.
at::Tensor tokens_to_map(const at::Tensor& tokens, Grid grid);
at::Tensor map_to_tokens(const at::Tensor& map);

}  // namespace ttt::vision
