// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/window_attention.h"

#include "core/error.h"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace ttt::layers {
namespace {

/// [B, N, heads*D] -> [B, heads, N, D]
at::Tensor split_heads(const at::Tensor& x, std::int64_t heads) {
  return x.unflatten(2, {heads, x.size(2) / heads}).transpose(1, 2);
}

at::Tensor join_heads(const at::Tensor& x) {
  return x.transpose(1, 2).flatten(2, 3);
}

/// mask[i, j]: query `first_query` + i attends to key `first_key` + j.
at::Tensor window_mask(std::int64_t queries, std::int64_t keys, std::int64_t offset,
                       std::int64_t window, const at::Tensor& like) {
  const auto options = at::TensorOptions().dtype(at::kLong).device(like.device());
  const at::Tensor distance = at::arange(queries, options).unsqueeze(1) + offset -
                              at::arange(keys, options).unsqueeze(0);  // query - key
  return (distance >= 0).logical_and_(distance < window);
}

}  // namespace

at::Tensor full_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          std::int64_t heads) {
  return join_heads(at::scaled_dot_product_attention(split_heads(q, heads), split_heads(k, heads),
                                                     split_heads(v, heads)));
}

at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            std::int64_t heads, std::optional<std::int64_t> window) {
  TTT_CHECK(!window || *window > 0, usage, fmt::format("a window of {} tokens", window.value_or(0)),
            "attention", "use at least one token");
  const at::Tensor queries = split_heads(q, heads), keys = split_heads(k, heads),
                   values = split_heads(v, heads);  // [B, heads, N, D]
  const std::int64_t tokens = q.size(1);
  if (!window || *window >= tokens)
    return join_heads(at::scaled_dot_product_attention(queries, keys, values, {}, 0.0, true));
  // Blocks of as many queries as the window is wide see two windows of keys.
  std::vector<at::Tensor> parts;
  for (std::int64_t begin = 0; begin < tokens; begin += *window) {
    const std::int64_t count = std::min(*window, tokens - begin);
    const std::int64_t first = std::max<std::int64_t>(0, begin - *window + 1);
    const std::int64_t seen = begin + count - first;
    parts.push_back(at::scaled_dot_product_attention(
        queries.narrow(2, begin, count), keys.narrow(2, first, seen), values.narrow(2, first, seen),
        window_mask(count, seen, begin - first, *window, q)));
  }
  return join_heads(at::cat(parts, 2));
}

}  // namespace ttt::layers
