// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that do something wrong, each when SELFTEST_FAULT names it. The linker's --wrap=SYMBOL
// gives calls of SYMBOL to __wrap_SYMBOL, and __real_SYMBOL is the true function.
#include "core/error.h"
#include "kernels/depthwise_conv3x3/backends.h"
#include "kernels/rope_2d/backends.h"
#include "kernels/ttt_depthwise/backends.h"
#include "kernels/ttt_gated_linear/backends.h"
#include "kernels/ttt_gated_linear/cpu_kernel.h"

#include <ATen/ATen.h>

#include <cstdlib>
#include <limits>
#include <string_view>

#define TTT_REAL(symbol) __asm__("__real_" symbol)
#define TTT_WRAP(symbol) __asm__("__wrap_" symbol)

#define TTT_CONVOLUTION \
  "_ZN3ttt3ops3cpu17depthwise_conv3x3ERKN2at6TensorES5_S5_RKNS0_20DepthwiseConvOptionsE"
#define TTT_ROWS                                                                              \
  "_ZN3ttt3ops3cpu22depthwise_conv3x3_rowsERKNS0_17DepthwiseConvRowsERKN2at6TensorES8_RKNS0_" \
  "20DepthwiseConvOptionsES8_"
#define TTT_ROPE "_ZN3ttt3ops3cpu7rope_2dERKN2at6TensorERKNS0_9RopeTableEbS5_"
#define TTT_STEP "_ZN3ttt3ops3cpu14depthwise_stepERKN2at6TensorES5_S5_"
#define TTT_APPLY "_ZN3ttt3ops3cpu15depthwise_applyERKN2at6TensorES5_S5_"
#define TTT_BACKWARD \
  "_ZN3ttt3ops3cpu27gated_linear_apply_backwardERKN2at6TensorES5_S5_S5_PKNS0_9RopeTableE"
#define TTT_BASELINE "_ZN3ttt3ops8baseline20gated_linear_kernelsE"

namespace ttt::ops {

at::Tensor real_convolution(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                            const DepthwiseConvOptions&) TTT_REAL(TTT_CONVOLUTION);
at::Tensor convolution(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                       const DepthwiseConvOptions&) TTT_WRAP(TTT_CONVOLUTION);
void real_rows(const DepthwiseConvRows&, const at::Tensor&, const at::Tensor&,
               const DepthwiseConvOptions&, const at::Tensor&) TTT_REAL(TTT_ROWS);
void rows(const DepthwiseConvRows&, const at::Tensor&, const at::Tensor&,
          const DepthwiseConvOptions&, const at::Tensor&) TTT_WRAP(TTT_ROWS);
void real_rope(const at::Tensor&, const RopeTable&, bool, const at::Tensor&) TTT_REAL(TTT_ROPE);
void rope(const at::Tensor&, const RopeTable&, bool, const at::Tensor&) TTT_WRAP(TTT_ROPE);
DepthwiseStep real_step(const at::Tensor&, const at::Tensor&, const at::Tensor&) TTT_REAL(TTT_STEP);
DepthwiseStep step(const at::Tensor&, const at::Tensor&, const at::Tensor&) TTT_WRAP(TTT_STEP);
void real_apply(const at::Tensor&, const at::Tensor&, const at::Tensor&) TTT_REAL(TTT_APPLY);
void apply(const at::Tensor&, const at::Tensor&, const at::Tensor&) TTT_WRAP(TTT_APPLY);
GatedLinearApplyGradients real_backward(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                        const at::Tensor&, const RopeTable*) TTT_REAL(TTT_BACKWARD);
GatedLinearApplyGradients backward(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                   const at::Tensor&, const RopeTable*) TTT_WRAP(TTT_BACKWARD);
extern const GatedLinearKernels real_baseline TTT_REAL(TTT_BASELINE);
extern const GatedLinearKernels broken_baseline TTT_WRAP(TTT_BASELINE);

namespace {

bool fault_is(std::string_view name) {
  const char* fault = std::getenv("SELFTEST_FAULT");
  return fault != nullptr && name == fault;
}

void baseline_apply(const TokenTile& tile, const float* packed, const TokenRows& out) {
  real_baseline.apply(tile, packed, out);
  if (fault_is("baseline") && !out.bf16) *static_cast<float*>(out.data) += 0.01F;
}

GatedLinearKernels with_broken_apply() {
  GatedLinearKernels kernels = real_baseline;
  kernels.apply = baseline_apply;
  return kernels;
}

}  // namespace

const GatedLinearKernels broken_baseline = with_broken_apply();

/// One element is off by 2e-4 of the largest.
at::Tensor convolution(const at::Tensor& x, const at::Tensor& taps, const at::Tensor& bias,
                       const DepthwiseConvOptions& options) {
  at::Tensor out = real_convolution(x, taps, bias, options);
  if (fault_is("value") && out.numel() > 0) {
    const at::Tensor last = out.view({-1})[out.numel() - 1];
    last.add_(out.abs().max(), 2e-4);
  }
  return out;
}

/// Only layers with packed weights compute a few rows at a time.
void rows(const DepthwiseConvRows& part, const at::Tensor& taps, const at::Tensor& bias,
          const DepthwiseConvOptions& options, const at::Tensor& out) {
  real_rows(part, taps, bias, options, out);
  if (fault_is("rows")) out.mul_(1.5);
}

/// NaN in larger outputs only.
void rope(const at::Tensor& x, const RopeTable& table, bool inverse, const at::Tensor& out) {
  real_rope(x, table, inverse, out);
  if (fault_is("nan") && out.numel() > 100)
    out.select(-1, 1).fill_(std::numeric_limits<double>::quiet_NaN());
  if (fault_is("infinity") && out.numel() > 100)
    out.select(-1, 1).fill_(std::numeric_limits<double>::infinity());
}

DepthwiseStep step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3) {
  if (fault_is("throw"))
    throw Error(ErrorKind::internal, "the kernel gave up", "ttt_depthwise", "none");
  return real_step(k, v, w3);
}

/// Changes an input after it was used.
void apply(const at::Tensor& q, const at::Tensor& kernels, const at::Tensor& out) {
  real_apply(q, kernels, out);
  if (fault_is("input") && q.scalar_type() == at::kFloat && q.numel() > 0)
    *q.data_ptr<float>() += 1;
}

/// Right outputs, wrong gradients.
GatedLinearApplyGradients backward(const at::Tensor& q, const at::Tensor& w1, const at::Tensor& w2,
                                   const at::Tensor& dout, const RopeTable* rope) {
  GatedLinearApplyGradients result = real_backward(q, w1, w2, dout, rope);
  if (fault_is("backward")) result.dw1.mul_(1.001);
  return result;
}

}  // namespace ttt::ops
