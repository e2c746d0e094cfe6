// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/inner_report.h"

#include "kernels/ttt_depthwise/ttt_depthwise.h"

#include <torch/torch.h>

#include <cmath>

namespace ttt::vision {
namespace {

constexpr double kScale = 1.0 / 3.0;  // of both inner losses, whatever the head's width

double item(const at::Tensor& scalar) {
  return scalar.to(at::kDouble).item<double>();
}

/// −(1/3)·Σ⟨v̂,v⟩ over everything, divided by `count`.
double inner_loss(const at::Tensor& predicted, const at::Tensor& v, double count) {
  return count > 0 ? -kScale * item((predicted.to(at::kFloat) * v.to(at::kFloat)).sum()) / count
                   : 0;
}

/// Sum of squared norms before the clip. The clip divides by n + 1, so a clipped norm r comes from
/// n = r / (1 − r).
at::Tensor squared_raw_norms(const at::Tensor& step, at::IntArrayRef dims) {
  const at::Tensor clipped = at::linalg_vector_norm(step, 2, dims);
  return (clipped / (1 - clipped)).square();
}

}  // namespace

InnerStepReport report_inner_step(const std::string& layer, const GatedLinearStep& gated,
                                  const DepthwiseStep& depthwise, const ForwardContext& context) {
  InnerStepReport report{.layer = layer, .steps = context.inner_update ? 1 : 0};
  InnerModelReport gated_report{.model = "gated_linear"}, depthwise_report{.model = "depthwise"};

  const auto gated_loss = [&](const ops::InnerWeights& weights) {
    const double rows = static_cast<double>(gated.k.size(0) * gated.k.size(1) * weights.w1.size(1));
    return inner_loss(ops::gated_linear_apply(gated.k, weights, context.backend), gated.v, rows);
  };
  gated_report.loss_before = gated_loss(gated.before);
  gated_report.loss_after = gated_loss(gated.after);
  const at::Tensor step =
      at::stack({gated.before.w1 - gated.after.w1, gated.before.w2 - gated.after.w2});
  gated_report.gradient_norm = std::sqrt(item(squared_raw_norms(step, {-2}).mean()));
  const at::Tensor start = at::stack({gated.before.w1, gated.before.w2}).expand_as(step);
  gated_report.update_ratio = item(step.norm() / start.norm());

  const auto depthwise_loss = [&](const at::Tensor& kernels) {
    return inner_loss(ops::depthwise_apply(depthwise.k, kernels, context.backend), depthwise.v,
                      static_cast<double>(depthwise.k.numel()));
  };
  depthwise_report.loss_before = depthwise_loss(depthwise.before);
  depthwise_report.loss_after = depthwise_loss(depthwise.after);
  const at::Tensor kernel_step = depthwise.before - depthwise.after;
  depthwise_report.gradient_norm = std::sqrt(item(squared_raw_norms(kernel_step, {1, 2}).mean()));
  depthwise_report.update_ratio = item(kernel_step.norm() / depthwise.before.norm());
  report.models = {gated_report, depthwise_report};
  return report;
}

}  // namespace ttt::vision
