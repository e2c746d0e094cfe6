// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training/random.h"
#include "vision/forward_context.h"

namespace ttt::vision {

/// Stochastic depth: factors [blocks, 2, batch] for the two branches (attention, MLP) of each block
/// and sample: 0 where the branch is dropped, else 1 / (1 - rate of the block). The rates grow
/// linearly from 0 in the first block to `last_rate` in the last.
at::Tensor draw_branch_factors(std::int64_t blocks, std::int64_t batch, double last_rate,
                               training::Random& random);

enum class Branch : std::int64_t { attention = 0, mlp = 1 };

/// The branch [B,N,C] of a block times its factors, if the context has any.
at::Tensor apply_branch_factor(const at::Tensor& branch, const ForwardContext& context,
                               std::int64_t block, Branch which);

}  // namespace ttt::vision
