// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/drop_path.h"

#include <torch/torch.h>

namespace ttt::vision {

at::Tensor draw_branch_factors(std::int64_t blocks, std::int64_t batch, double last_rate,
                               training::Random& random) {
  at::Tensor factors = at::empty({blocks, 2, batch}, at::kFloat);
  auto values = factors.accessor<float, 3>();
  for (std::int64_t block = 0; block < blocks; ++block) {
    const double rate =
        blocks > 1 ? last_rate * static_cast<double>(block) / static_cast<double>(blocks - 1)
                   : last_rate;
    const auto kept = static_cast<float>(1.0 / (1.0 - rate));
    for (std::int64_t branch = 0; branch < 2; ++branch)
      for (std::int64_t i = 0; i < batch; ++i)
        values[block][branch][i] = random.chance(rate) ? 0.0F : kept;
  }
  return factors;
}

at::Tensor apply_branch_factor(const at::Tensor& branch, const ForwardContext& context,
                               std::int64_t block, Branch which) {
  if (!context.branch_factors.defined()) return branch;
  const at::Tensor factor =
      context.branch_factors.select(0, block).select(0, static_cast<std::int64_t>(which));  // [B]
  return branch * factor.view({-1, 1, 1}).to(branch.scalar_type());
}

}  // namespace ttt::vision
