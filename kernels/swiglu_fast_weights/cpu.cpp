// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/cpu_isa.h"
#include "kernels/support/scratch.h"
#include "kernels/swiglu_fast_weights/backends.h"
#include "kernels/swiglu_fast_weights/cpu_tiles.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace ttt::ops::cpu {
namespace {

// Tokens of a task of the apply, and the hidden channels that it takes at a time: what lies between
// the two products then stays in the second-level cache.
constexpr std::int64_t kApplyTile = 128;
constexpr std::int64_t kHiddenSlice = 4 * kPanelColumns;

const SwigluKernels& kernels() {
  return select_kernels(baseline::swiglu_kernels, avx2::swiglu_kernels, avx512::swiglu_kernels);
}

class Apply {
 public:
  Apply(const at::Tensor& q, const SwigluMatrices& weights, const at::Tensor& out)
      : sizes_(q, weights.w0),
        q_(q, sizes_),
        out_(out, sizes_),
        w0_(weights.w0, false, sizes_),
        w1_(weights.w1, false, sizes_),
        w2_(weights.w2, false, sizes_) {}

  void run() const {
    const std::int64_t tiles = (sizes_.tokens + kApplyTile - 1) / kApplyTile;
    parallel_tasks(sizes_.matrices * tiles,
                   [&](std::int64_t task) { tile(task / tiles, task % tiles * kApplyTile); });
  }

 private:
  void tile(std::int64_t matrix, std::int64_t first) const;
  void project(const PackSource& rows, const PackedMatrices& factor, std::int64_t matrix,
               std::int64_t slice, float* out) const;

  SwigluSizes sizes_;
  HeadRows q_, out_;
  PackedMatrices w0_, w1_, w2_;
};

/// Product with the slice's columns of a matrix, [rows, columns rounded up to panels].
void Apply::project(const PackSource& rows, const PackedMatrices& factor, std::int64_t matrix,
                    std::int64_t slice, float* out) const {
  PanelProduct p;
  p.rows = rows.rows;
  p.columns = round_up(std::min(kHiddenSlice, sizes_.hidden - slice * kHiddenSlice), kPanelColumns);
  p.depth = sizes_.width;
  p.a = rows.data;
  p.a_stride = rows.stride;
  p.b = factor.panel(matrix, slice * (kHiddenSlice / kPanelColumns));
  p.b_stride = factor.panel_stride();
  p.c = out;
  p.c_stride = p.columns;
  p.c_panel_stride = kPanelColumns;
  p.bf16 = sizes_.bf16;
  multiply(p);
}

void Apply::tile(std::int64_t matrix, std::int64_t first) const {
  const std::int64_t count = std::min(kApplyTile, sizes_.tokens - first);
  const std::int64_t slice_size = kApplyTile * kHiddenSlice;
  float* gate = thread_scratch(3 * slice_size + 2 * kApplyTile * sizes_.width);
  float *linear = gate + slice_size, *hidden = linear + slice_size;
  float *sums = hidden + slice_size, *converted = sums + kApplyTile * sizes_.width;
  PackSource rows = q_.rows(matrix, first, count);
  if (rows.bf16 != sizes_.bf16) {
    gemm_kernels().convert(rows, converted, sizes_.width, false);
    rows = {converted, sizes_.width, count, sizes_.width, false};
  }
  const PackSource target = out_.rows(matrix, first, count);
  auto* const to = const_cast<void*>(target.data);
  PanelProduct p;
  p.rows = count;
  p.columns = sizes_.width;
  p.c = target.bf16 ? sums : static_cast<float*>(to);
  p.c_stride = target.bf16 ? sizes_.width : target.stride;
  p.c_panel_stride = kPanelColumns;
  p.b_stride = w1_.panel_stride();
  p.bf16 = sizes_.bf16;
  for (std::int64_t slice = 0; slice * kHiddenSlice < sizes_.hidden; ++slice) {
    const std::int64_t channels = std::min(kHiddenSlice, sizes_.hidden - slice * kHiddenSlice);
    const std::int64_t padded = round_up(channels, kPanelColumns);
    project(rows, w0_, matrix, slice, gate);
    project(rows, w2_, matrix, slice, linear);
    kernels().gate(gate, linear, count, padded, hidden, sizes_.bf16);
    p.depth = sizes_.bf16 ? round_up(channels, 2) : channels;
    p.a = hidden;
    p.a_stride = padded;
    p.b = static_cast<const char*>(w1_.panel(matrix, 0)) +
          slice * kHiddenSlice * kPanelColumns * sizes_.element_bytes();
    multiply(p);
    p.add = true;
  }
  if (target.bf16)
    gemm_kernels().convert({sums, sizes_.width, count, sizes_.width, false}, to, target.stride,
                           true);
}

at::Tensor new_matrices(const at::Tensor& like) {
  return at::zeros(like.sizes(), like.options());
}

SwigluMatrices new_matrices(const SwigluMatrices& like) {
  return {new_matrices(like.w0), new_matrices(like.w1), new_matrices(like.w2)};
}

}  // namespace

void swiglu_apply(const at::Tensor& q, const SwigluMatrices& weights, const at::Tensor& out) {
  if (q.numel() > 0) Apply(q, weights, out).run();
}

SwigluApplyGradients swiglu_apply_backward(const at::Tensor& q, const SwigluMatrices& weights,
                                           const at::Tensor& dout) {
  // The sums are those of the gradient with keys q and values dout.
  const SwigluMatrices dweights = new_matrices(weights);
  const at::Tensor dq = at::empty(q.sizes(), q.options());
  run_swiglu_pass({q, dout, {}, weights, nullptr, dweights, dq, {}, {}});
  return {dq, dweights};
}

void swiglu_gradient(const SwigluTokens& tokens, const SwigluMatrices& weights,
                     const SwigluMatrices& sums) {
  run_swiglu_pass({tokens.k, tokens.v, tokens.rates, weights, nullptr, sums, {}, {}, {}});
}

SwigluGradientGradients swiglu_gradient_backward(const SwigluTokens& tokens,
                                                 const SwigluMatrices& weights,
                                                 const SwigluMatrices& dsums) {
  const SwigluGradientGradients result{at::empty(tokens.k.sizes(), tokens.k.options()),
                                       at::empty(tokens.v.sizes(), tokens.v.options()),
                                       at::empty(tokens.rates.sizes(), tokens.rates.options()),
                                       new_matrices(weights)};
  run_swiglu_pass({tokens.k, tokens.v, tokens.rates, weights, &dsums, result.dweights, result.dk,
                   result.dv, result.drates});
  return result;
}

}  // namespace ttt::ops::cpu
