// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/ttt_gated_linear/ttt_gated_linear.h"
#include "vision/forward_context.h"

namespace ttt::vision {

/// Inner weights before and after a step, and the pairs they were trained on.
struct GatedLinearStep {
  const at::Tensor& k;              ///< [B,N,C]
  const at::Tensor& v;              ///< [B,N,C]
  ops::InnerWeights before, after;  ///< [1 or B,heads,d,d]
};
struct DepthwiseStep {
  at::Tensor k, v;           ///< [B,h,w,d]
  at::Tensor before, after;  ///< [B,3,3,d]
};

/// Losses, gradient norms and update sizes of one block, in fp32. Costs a forward pass of the inner
/// models more, so it runs only when a report was asked for.
InnerStepReport report_inner_step(const std::string& layer, const GatedLinearStep& gated,
                                  const DepthwiseStep& depthwise, const ForwardContext& context);

}  // namespace ttt::vision
