// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vision/design_space/config.h"

#include <ATen/core/Tensor.h>

namespace ttt::vision {

/// The loss of every token (see InnerLoss), the factor 1/3 included: v̂, v [B,heads,N,d] ->
/// [B,heads,N]. The root of rmse is taken of Σ r² + 1e-12, which keeps its slope finite at 0.
at::Tensor inner_loss(InnerLoss loss, const at::Tensor& predicted, const at::Tensor& value);

/// Its derivative with respect to v̂, [B,heads,N,d]. For mae it is constant almost everywhere, so no
/// outer gradient reaches v̂ or v; for smooth_l1 outside |r| < 1 as well.
at::Tensor inner_loss_slope(InnerLoss loss, const at::Tensor& predicted, const at::Tensor& value);

}  // namespace ttt::vision
