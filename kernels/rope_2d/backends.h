// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every backend of the op defines. Arguments are checked by rope_2d.cpp: x and out [B, h*w, C]
// of one dtype with a contiguous last dimension, out may be x; the table is contiguous and on the
// same device. `inverse` turns backwards, which is also the gradient.

#include "kernels/rope_2d/rope_2d.h"

#include <string_view>
#include <vector>

namespace ttt::ops {

/// The gradient of x without autograd, for callers that record themselves: dout [B, h*w, C],
/// checked as x is in the public function.
at::Tensor rope_2d_backward(const at::Tensor& dout, const RopeTable& table, Backend backend);

/// Throws Error(usage) unless the table is whole and fits x [B, h*w, C]. For ops that rotate while
/// they read.
void check_rope_table(std::string_view op, const at::Tensor& x, const RopeTable& table);

namespace reference {
void rope_2d(const at::Tensor& x, const RopeTable& table, bool inverse, const at::Tensor& out);
}
namespace cpu {
void rope_2d(const at::Tensor& x, const RopeTable& table, bool inverse, const at::Tensor& out);
}
namespace cuda {
/// Dtypes of this build's CUDA version; empty without one.
std::vector<at::ScalarType> rope_2d_dtypes();
void rope_2d(const at::Tensor& x, const RopeTable& table, bool inverse, const at::Tensor& out);
}  // namespace cuda

}  // namespace ttt::ops
