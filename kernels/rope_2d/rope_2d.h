// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/backend.h"

#include <ATen/core/Tensor.h>

namespace ttt::ops {

/// Rotary position embedding over a grid (LeapLabTHU/ViTTT: ttt_block.py, class RoPE). Adjacent
/// channels (2p, 2p+1) of the whole vector form a pair; with K = C/4, pairs 0..K-1 turn by
/// y * theta_p and pairs K..2K-1 by x * theta_{p-K}, theta_k = 10000^(-k/K):
///   out[2p] = a cos - b sin,  out[2p+1] = a sin + b cos.

/// Cosines and sines per axis, float: rows [h, C/4] and columns [w, C/4].
struct RopeTable {
  at::Tensor row_cos, row_sin;
  at::Tensor column_cos, column_sin;
  std::int64_t height() const { return row_cos.size(0); }
  std::int64_t width() const { return column_cos.size(0); }
  std::int64_t channels() const { return 4 * row_cos.size(1); }
  RopeTable to(c10::Device device) const;
};

/// The table of a grid. All steps run in float with LibTorch's own functions, so that its values
/// are those of the official buffer, bit for bit. Throws Error(usage) unless C is a multiple of 4.
RopeTable make_rope_table(std::int64_t height, std::int64_t width, std::int64_t channels);

/// The official buffer `rope.rotations` [h, w, C/2, 2] (cos, sin) of a table.
at::Tensor rope_rotations(const RopeTable& table);

/// x [B, h*w, C], tokens row by row, any strides with a contiguous last dimension -> the same shape
/// and dtype; the rotation is computed in float (double for double). Differentiable in x.
/// Throws Error(usage) on shapes that don't fit and Error(device) as `resolve` does.
at::Tensor rope_2d(const at::Tensor& x, const RopeTable& table,
                   Backend backend = Backend::automatic);

}  // namespace ttt::ops
