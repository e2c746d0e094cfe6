// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace ttt::layers {

/// Softmax attention of each head over all tokens of a sequence. q, k, v [B, N, heads*D] ->
/// [B, N, heads*D]; scale 1/sqrt(D).
at::Tensor full_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          std::int64_t heads);

/// The same, where token t attends to t - window + 1 ... t; without a window to all up to t. A
/// window is exact and takes memory in proportion to N * window, not N * N.
at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            std::int64_t heads, std::optional<std::int64_t> window);

}  // namespace ttt::layers
