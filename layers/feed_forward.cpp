// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/feed_forward.h"

#include <torch/torch.h>

#include <algorithm>

namespace ttt::layers {
namespace {

// Enough rows that a call costs nothing beside its products; few enough that what is between the
// maps stays in the second-level cache.
constexpr std::int64_t kRows = 256;

}  // namespace

bool add_feed_forward(const at::Tensor& x, const LayerNorm& norm, const Linear& first,
                      ops::LinearActivation activation, const Linear& second,
                      ops::Backend backend) {
  if (!x.is_cpu() || !x.is_contiguous() || !first.computes_into(x) || !second.computes_into(x))
    return false;
  const at::Tensor rows = x.view({-1, x.size(-1)});
  const std::int64_t count = rows.size(0);
  const at::Tensor hidden = at::empty({std::min(kRows, count), first.weight.size(0)}, x.options());
  for (std::int64_t row = 0; row < count; row += kRows) {
    const std::int64_t here = std::min(kRows, count - row);
    const at::Tensor part = rows.narrow(0, row, here), between = hidden.narrow(0, 0, here);
    first.forward_into(between, part, {.activation = activation, .norm = norm.fused()}, backend);
    second.forward_into(part, between, {.residual = part}, backend);
  }
  return true;
}

}  // namespace ttt::layers
