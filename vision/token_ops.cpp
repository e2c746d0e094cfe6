// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/token_ops.h"

#include "layers/recompute.h"

#include <torch/torch.h>

namespace ttt::vision {
at::Tensor as_grid(const at::Tensor& tokens, Grid grid) {
  return tokens.view({tokens.size(0), grid.height, grid.width, tokens.size(2)});
}

at::Tensor position_encoding(const at::Tensor& x, const layers::DepthwiseConv& convolution,
                             Grid grid, const ForwardContext& context, const std::string& name) {
  const at::Tensor map = as_grid(x, grid);
  if (context.trace)  // The official module's output is the convolution alone, [B,C,h,w].
    context.emit(name, convolution.forward(map, {}, context.backend).permute({0, 3, 1, 2}));
  return convolution.forward(map, {.add_input = true}, context.backend).flatten(1, 2);
}

at::Tensor depthwise_gelu(const at::Tensor& x, const layers::DepthwiseConv& convolution, Grid grid,
                          const ForwardContext& context) {
  return convolution
      .forward(as_grid(x, grid), {.add_input = true, .activation = ops::Activation::gelu},
               context.backend)
      .flatten(1, 2);
}

at::Tensor run_block(std::function<at::Tensor(const at::Tensor&)> block, const at::Tensor& x,
                     const ForwardContext& context) {
  return context.recompute ? layers::recompute(std::move(block), x) : block(x);
}

at::Tensor tokens_to_map(const at::Tensor& tokens, Grid grid) {
  return as_grid(tokens, grid).permute({0, 3, 1, 2});
}

at::Tensor map_to_tokens(const at::Tensor& map) {
  return map.permute({0, 2, 3, 1}).flatten(1, 2);
}

}  // namespace ttt::vision
