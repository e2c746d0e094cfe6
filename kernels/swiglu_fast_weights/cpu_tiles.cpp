// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/swiglu_fast_weights/cpu_tiles.h"

#include "kernels/support/cpu_isa.h"
#include "kernels/support/scratch.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace ttt::ops::cpu {
namespace {

// Tokens of a tile. A panel's three planes [tile, 64] of float then fit the second-level cache
// beside a panel of weights, and the sums are read and written once per tile.
constexpr std::int64_t kTile = 512;
constexpr std::int64_t kBackwardTile = 256;
constexpr std::int64_t kRowBlock = 64;
// Matrices are taken in groups whose buffers stay below this.
constexpr std::int64_t kGroupBytes = 64 << 20;

const SwigluKernels& kernels() {
  return select_kernels(baseline::swiglu_kernels, avx2::swiglu_kernels, avx512::swiglu_kernels);
}

/// The planes of a panel, in the order in which they lie in memory.
enum Plane { kA, kC, kR, kP0, kP1, kP2, kPlanes };

class TilePass {
 public:
  explicit TilePass(const SwigluPass& pass);
  void run();

 private:
  bool backward() const { return pass_.dsums != nullptr; }
  std::int64_t planes() const { return backward() ? kPlanes : 3; }
  std::int64_t padded_rows() const { return round_up(rows_, 2); }
  std::int64_t depth() const { return sizes_.bf16 ? padded_rows() : rows_; }
  char* at(const at::Tensor& buffer, std::int64_t i, std::int64_t j = 0) const {
    return static_cast<char*>(buffer.mutable_data_ptr()) +
           (i * buffer.stride(0) + j * buffer.stride(1)) *
               static_cast<std::int64_t>(buffer.element_size());
  }

  void stage_columns(std::int64_t i, std::int64_t column);
  void gate_panel(std::int64_t i, std::int64_t panel);
  void project(std::int64_t i, std::int64_t panel, float* planes) const;
  SwigluPanel prepare(std::int64_t i, std::int64_t panel, float* planes, char* factors) const;
  void add_sums(std::int64_t i, std::int64_t panel, const SwigluPanel& values, char* transposed);
  void back_rows(std::int64_t i, std::int64_t first);
  void back(std::int64_t i, std::int64_t first, const at::Tensor& out,
            std::initializer_list<std::pair<Plane, const PackedMatrices*>> terms);
  void add_rates(std::int64_t i, std::int64_t first);
  const void* left(std::int64_t i, std::int64_t panel, Plane plane) const;

  const SwigluPass& pass_;
  SwigluSizes sizes_;
  HeadRows x_, y_;
  std::int64_t panels_, tile_;
  PackedMatrices w0_, w1_, w2_, d0_, d1_, d2_;  // X W0, Y W1^T, …
  PackedMatrices back_w0_, back_w1_, back_w2_, back_d0_, back_d1_, back_d2_;
  // Of the tile at hand, per matrix of the group:
  at::Tensor x_left_, y_left_;  // [tile, D], only where the activations must be converted
  at::Tensor x_transposed_;     // [D, tile], left factor
  at::Tensor y_right_;          // [tile, D], right factor
  at::Tensor left_;             // [panel, plane, tile, 64], left factors for the way back
  at::Tensor rate_sums_;        // [panel, 3, tile]
  std::int64_t first_matrix_ = 0, group_ = 0;
  std::int64_t first_ = 0, rows_ = 0;  // tokens of the tile
};

TilePass::TilePass(const SwigluPass& pass)
    : pass_(pass),
      sizes_(pass.x, pass.weights.w0),
      x_(pass.x, sizes_),
      y_(pass.y, sizes_),
      panels_(panel_count(sizes_.hidden)),
      tile_(std::min(pass.dx.defined() ? kBackwardTile : kTile, round_up(sizes_.tokens, 2))),
      w0_(pass.weights.w0, false, sizes_),
      w1_(pass.weights.w1, true, sizes_),
      w2_(pass.weights.w2, false, sizes_) {
  if (pass.dx.defined()) {
    back_w0_ = PackedMatrices(pass.weights.w0, true, sizes_);
    back_w2_ = PackedMatrices(pass.weights.w2, true, sizes_);
  }
  if (backward()) {
    d0_ = PackedMatrices(pass.dsums->w0, false, sizes_);
    d1_ = PackedMatrices(pass.dsums->w1, true, sizes_);
    d2_ = PackedMatrices(pass.dsums->w2, false, sizes_);
    back_w1_ = PackedMatrices(pass.weights.w1, false, sizes_);
    back_d0_ = PackedMatrices(pass.dsums->w0, true, sizes_);
    back_d1_ = PackedMatrices(pass.dsums->w1, false, sizes_);
    back_d2_ = PackedMatrices(pass.dsums->w2, true, sizes_);
  }
  const std::int64_t width = round_up(sizes_.width, kPanelColumns);
  const std::int64_t kept = pass.dx.defined() ? planes() * panels_ * kPanelColumns : 0;
  const std::int64_t bytes = 4 * tile_ * (4 * width + kept);
  group_ = std::clamp<std::int64_t>(kGroupBytes / bytes, 1, sizes_.matrices);
  const auto floats = at::TensorOptions().dtype(at::kFloat);
  const auto factors = floats.dtype(sizes_.dtype());
  if (x_.bf16() != sizes_.bf16) {
    x_left_ = at::empty({group_, tile_, sizes_.width}, floats);
    y_left_ = at::empty({group_, tile_, sizes_.width}, floats);
  }
  x_transposed_ = at::empty({group_, sizes_.width, tile_}, factors);
  y_right_ = at::empty({group_, width / kPanelColumns, tile_ * kPanelColumns}, factors);
  if (pass.dx.defined())
    left_ = at::empty({group_, panels_, planes() * tile_ * kPanelColumns}, factors);
  if (backward()) rate_sums_ = at::empty({group_, panels_, 3 * tile_}, floats);
}

void TilePass::run() {
  for (; first_matrix_ < sizes_.matrices; first_matrix_ += group_) {
    const std::int64_t group = std::min(group_, sizes_.matrices - first_matrix_);
    for (first_ = 0; first_ < sizes_.tokens; first_ += tile_) {
      rows_ = std::min(tile_, sizes_.tokens - first_);
      const std::int64_t columns = panel_count(sizes_.width);
      parallel_tasks(group * columns, [&](std::int64_t task) {
        stage_columns(task / columns, task % columns * kPanelColumns);
      });
      parallel_tasks(group * panels_,
                     [&](std::int64_t task) { gate_panel(task / panels_, task % panels_); });
      if (!pass_.dx.defined()) continue;
      const std::int64_t blocks = (rows_ + kRowBlock - 1) / kRowBlock;
      parallel_tasks(group * blocks, [&](std::int64_t task) {
        back_rows(task / blocks, task % blocks * kRowBlock);
      });
    }
  }
}

/// Brings 64 channels of the tile into the forms that the products take.
void TilePass::stage_columns(std::int64_t i, std::int64_t column) {
  const std::int64_t columns = std::min(kPanelColumns, sizes_.width - column);
  const auto part = [&](const HeadRows& rows) {
    PackSource source = rows.rows(first_matrix_ + i, first_, rows_);
    source.data = static_cast<const char*>(source.data) + column * (source.bf16 ? 2 : 4);
    source.columns = columns;
    return source;
  };
  const PackSource x = part(x_), y = part(y_);
  gemm_kernels().transpose(x, at(x_transposed_, i, column), tile_, sizes_.bf16);
  gemm_kernels().pack(y, 1.0F, 0, at(y_right_, i, column / kPanelColumns), sizes_.bf16);
  if (!x_left_.defined()) return;
  gemm_kernels().convert(x, at(x_left_, i) + column * 4, sizes_.width, false);
  gemm_kernels().convert(y, at(y_left_, i) + column * 4, sizes_.width, false);
}

/// The planes a, c, r (p0, p1, p2) of a panel.
void TilePass::project(std::int64_t i, std::int64_t panel, float* planes) const {
  const auto plane = [&](const HeadRows& rows, const at::Tensor& converted,
                         const PackedMatrices& factor, Plane which) {
    const PackSource source = rows.rows(first_matrix_ + i, first_, rows_);
    PanelProduct p;
    p.rows = rows_;
    p.columns = kPanelColumns;
    p.depth = sizes_.width;
    p.a = converted.defined() ? at(converted, i) : source.data;
    p.a_stride = converted.defined() ? sizes_.width : source.stride;
    p.b = factor.panel(first_matrix_ + i, panel);
    p.c = planes + which * tile_ * kPanelColumns;
    p.c_stride = kPanelColumns;
    p.bf16 = sizes_.bf16;
    multiply(p);
  };
  plane(x_, x_left_, w0_, kA);
  plane(x_, x_left_, w2_, kC);
  plane(y_, y_left_, w1_, kR);
  if (!backward()) return;
  plane(x_, x_left_, d0_, kP0);
  plane(y_, y_left_, d1_, kP1);
  plane(x_, x_left_, d2_, kP2);
}

const void* TilePass::left(std::int64_t i, std::int64_t panel, Plane plane) const {
  return at(left_, i, panel) + plane * tile_ * kPanelColumns * sizes_.element_bytes();
}

/// Arguments of the gate. Float factors replace the planes; bfloat16 ones have `factors`, and
/// where they are needed on the way back their part of left_.
SwigluPanel TilePass::prepare(std::int64_t i, std::int64_t panel, float* planes,
                              char* factors) const {
  const std::int64_t matrix = first_matrix_ + i, plane = tile_ * kPanelColumns;
  SwigluPanel p;
  p.rows = rows_;
  p.bf16 = sizes_.bf16;
  const float* inputs[kPlanes];
  void* outputs[kPlanes];
  for (std::int64_t n = 0; n < kPlanes; ++n) {
    inputs[n] = planes + n * plane;
    outputs[n] = sizes_.bf16 && left_.defined()
                     ? const_cast<void*>(left(i, panel, static_cast<Plane>(n)))
                     : static_cast<void*>(planes + n * plane);
  }
  p.a = inputs[kA], p.c = inputs[kC], p.r = inputs[kR];
  p.p0 = inputs[kP0], p.p1 = inputs[kP1], p.p2 = inputs[kP2];
  p.right_a = outputs[kA], p.right_c = outputs[kC], p.left_y = outputs[kR];
  if (sizes_.bf16) {
    p.right_a = factors;
    p.right_c = factors + plane * 2;
    if (!left_.defined()) p.left_y = factors + 2 * plane * 2;
  }
  if (left_.defined()) {
    p.left_a = outputs[kA], p.left_c = outputs[kC];
    p.left_p0 = outputs[kP0], p.left_p1 = outputs[kP1], p.left_p2 = outputs[kP2];
  }
  for (std::int64_t which = 0; which < 3; ++which) {
    if (pass_.rates.defined())
      p.rates[which] =
          pass_.rates.const_data_ptr<float>() + (matrix * 3 + which) * sizes_.tokens + first_;
    if (backward()) {
      p.drates[which] = reinterpret_cast<float*>(at(rate_sums_, i, panel)) + which * tile_;
      std::fill_n(p.drates[which], rows_, 0.0F);
    }
  }
  return p;
}

void TilePass::gate_panel(std::int64_t i, std::int64_t panel) {
  const std::int64_t plane = tile_ * kPanelColumns;
  // Planes of float, three factors and a transpose, in floats.
  float* scratch = thread_scratch((planes() + 4) * plane);
  float* planes_at = scratch;
  if (left_.defined() && !sizes_.bf16) planes_at = reinterpret_cast<float*>(at(left_, i, panel));
  auto* factors = reinterpret_cast<char*>(scratch + planes() * plane);
  project(i, panel, planes_at);
  const SwigluPanel values = prepare(i, panel, planes_at, factors);
  if (backward()) {
    kernels().gradient_backward(values);
  } else {
    kernels().gradient(values);
  }
  add_sums(i, panel, values, factors + 3 * plane * 4);
}

void TilePass::add_sums(std::int64_t i, std::int64_t panel, const SwigluPanel& values,
                        char* transposed) {
  const std::int64_t matrix = first_matrix_ + i, first_column = panel * kPanelColumns;
  const std::int64_t columns = std::min(kPanelColumns, sizes_.hidden - first_column);
  const std::int64_t size = sizes_.width * sizes_.hidden;
  PanelProduct p;
  p.depth = depth();
  p.add = true;
  p.bf16 = sizes_.bf16;
  p.a_stride = tile_;
  p.a = at(x_transposed_, i);
  p.rows = sizes_.width;
  p.columns = columns;
  p.c_stride = sizes_.hidden;
  p.b = values.right_a;
  p.c = pass_.sums.w0.mutable_data_ptr<float>() + matrix * size + first_column;
  multiply(p);
  p.b = values.right_c;
  p.c = pass_.sums.w2.mutable_data_ptr<float>() + matrix * size + first_column;
  multiply(p);
  gemm_kernels().transpose({values.left_y, kPanelColumns, rows_, kPanelColumns, sizes_.bf16},
                           transposed, tile_, sizes_.bf16);
  p.a = transposed;
  p.rows = columns;
  p.columns = sizes_.width;
  p.b = at(y_right_, i);
  p.b_stride = y_right_.stride(1);
  p.c = pass_.sums.w1.mutable_data_ptr<float>() + matrix * size + first_column * sizes_.width;
  p.c_stride = sizes_.width;
  p.c_panel_stride = kPanelColumns;
  multiply(p);
}

/// out [rows, D] = sum over the panels and terms of left factor times matrix.
void TilePass::back(std::int64_t i, std::int64_t first, const at::Tensor& out,
                    std::initializer_list<std::pair<Plane, const PackedMatrices*>> terms) {
  const std::int64_t matrix = first_matrix_ + i, rows = std::min(kRowBlock, rows_ - first);
  const std::int64_t bytes = sizes_.element_bytes();
  const PackSource target = HeadRows(out, sizes_).rows(matrix, first_ + first, rows);
  float* sums = thread_scratch(kRowBlock * kPanelColumns);
  for (std::int64_t column = 0; column < sizes_.width; column += kPanelColumns) {
    PanelProduct p;
    p.rows = rows;
    p.columns = std::min(kPanelColumns, sizes_.width - column);
    p.a_stride = kPanelColumns;
    p.c = sums;
    p.c_stride = kPanelColumns;
    p.bf16 = sizes_.bf16;
    for (std::int64_t panel = 0; panel < panels_; ++panel) {
      const std::int64_t hidden = panel * kPanelColumns;
      p.depth = std::min(kPanelColumns, sizes_.hidden - hidden);
      if (sizes_.bf16) p.depth = round_up(p.depth, 2);
      for (const auto& [plane, factor] : terms) {
        p.a = static_cast<const char*>(left(i, panel, plane)) + first * kPanelColumns * bytes;
        p.b = static_cast<const char*>(factor->panel(matrix, column / kPanelColumns)) +
              hidden * kPanelColumns * bytes;
        multiply(p);
        p.add = true;
      }
    }
    auto* to = static_cast<char*>(const_cast<void*>(target.data)) + column * (target.bf16 ? 2 : 4);
    gemm_kernels().convert({sums, kPanelColumns, rows, p.columns, false}, to, target.stride,
                           target.bf16);
  }
}

/// The rates' gradients, added up over the panels in order.
void TilePass::add_rates(std::int64_t i, std::int64_t first) {
  const std::int64_t rows = std::min(kRowBlock, rows_ - first);
  for (std::int64_t which = 0; which < 3; ++which) {
    float* out = pass_.drates.mutable_data_ptr<float>() +
                 ((first_matrix_ + i) * 3 + which) * sizes_.tokens + first_ + first;
    for (std::int64_t t = 0; t < rows; ++t) {
      float total = 0;
      for (std::int64_t panel = 0; panel < panels_; ++panel)
        total +=
            reinterpret_cast<const float*>(at(rate_sums_, i, panel))[which * tile_ + first + t];
      out[t] = total;
    }
  }
}

void TilePass::back_rows(std::int64_t i, std::int64_t first) {
  if (!backward()) return back(i, first, pass_.dx, {{kA, &back_w0_}, {kC, &back_w2_}});
  back(i, first, pass_.dx, {{kA, &back_w0_}, {kC, &back_w2_}, {kP0, &back_d0_}, {kP2, &back_d2_}});
  back(i, first, pass_.dy, {{kR, &back_w1_}, {kP1, &back_d1_}});
  add_rates(i, first);
}

}  // namespace

SwigluSizes::SwigluSizes(const at::Tensor& x, const at::Tensor& w0)
    : batch(x.size(0)),
      tokens(x.size(1)),
      heads(w0.size(1)),
      width(w0.size(2)),
      hidden(w0.size(3)),
      matrices(batch * heads),
      // The micro-kernels take pairs of bfloat16, so that an odd width would end in the next row.
      bf16(x.scalar_type() == at::kBFloat16 && width % 2 == 0 && has_bfloat16_products()) {}

HeadRows::HeadRows(const at::Tensor& x, const SwigluSizes& sizes)
    : data_(static_cast<char*>(x.data_ptr())),
      batch_stride_(x.stride(0)),
      stride_(x.stride(1)),
      heads_(sizes.heads),
      width_(sizes.width),
      bytes_(static_cast<std::int64_t>(x.element_size())),
      bf16_(x.scalar_type() == at::kBFloat16) {}

PackSource HeadRows::rows(std::int64_t matrix, std::int64_t first, std::int64_t count) const {
  const std::int64_t offset =
      matrix / heads_ * batch_stride_ + first * stride_ + matrix % heads_ * width_;
  return {data_ + offset * bytes_, stride_, count, width_, bf16_};
}

PackedMatrices::PackedMatrices(const at::Tensor& matrices, bool transposed,
                               const SwigluSizes& sizes) {
  const bool shared = matrices.stride(0) == 0 && matrices.size(0) > 1;
  const at::Tensor each = shared ? matrices.select(0, 0) : matrices.flatten(0, 1);
  packed_ = right_factors(transposed ? each.transpose(1, 2) : each, 1.0F, sizes.dtype());
  count_ = std::max<std::int64_t>(1, packed_.size(0));
}

const void* PackedMatrices::panel(std::int64_t matrix, std::int64_t panel) const {
  const std::int64_t element = matrix % count_ * packed_.stride(0) + panel * packed_.stride(1);
  return static_cast<const char*>(packed_.const_data_ptr()) +
         element * static_cast<std::int64_t>(packed_.element_size());
}

void run_swiglu_pass(const SwigluPass& pass) {
  if (pass.x.numel() == 0) return;
  TilePass(pass).run();
}

}  // namespace ttt::ops::cpu
