// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vision/token_mixer.h"

#include <map>
#include <string>

namespace ttt::test {

/// A TTT block on a small odd grid, its tensors by the reproducible fill.
struct BlockCase {
  std::int64_t dim = 12, heads = 2, batch = 2;
  vision::Grid grid{3, 5};
  at::ScalarType dtype = at::kDouble;
};

/// Output of a block, and the gradients of Σ output · (a fixed tensor).
struct BlockRun {
  at::Tensor output;
  std::map<std::string, at::Tensor> gradients;  ///< by parameter name, and "x"; zeros where unused
};

/// Gives every parameter the fill of its name, large enough that clip and losses matter.
void fill_block(vision::TokenMixer& block, const BlockCase& size);

BlockRun run_block(const vision::TokenMixer& block, const BlockCase& size,
                   const vision::ForwardContext& context);

/// Outputs and all gradients agree within `tolerance` of the largest element of each tensor.
void expect_same(const BlockRun& actual, const BlockRun& expected, double tolerance);

}  // namespace ttt::test
