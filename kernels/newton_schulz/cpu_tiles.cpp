// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/newton_schulz/cpu_tiles.h"

#include "kernels/newton_schulz/backends.h"
#include "kernels/support/cpu_gemm.h"
#include "kernels/support/cpu_isa.h"
#include "kernels/support/scratch.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

namespace ttt::ops::cpu {
namespace {

constexpr std::int64_t kSide = kNewtonSchulzTile;
constexpr std::int64_t kElements = kSide * kSide;
static_assert(kSide == kPanelColumns);
// Row blocks that meet a panel of X one after the other: it comes from memory once for them.
constexpr std::int64_t kBlocksPerTask = 2;

const NewtonSchulzKernels& kernels() {
  return select_kernels(baseline::newton_schulz_kernels, avx2::newton_schulz_kernels,
                        avx512::newton_schulz_kernels);
}

/// A matrix from (row, column) on.
FloatMatrix part_of(const FloatMatrix& matrix, std::int64_t row, std::int64_t column) {
  const std::int64_t offset =
      matrix.turned ? column * matrix.stride + row : row * matrix.stride + column;
  return {matrix.data + offset, matrix.stride, matrix.turned};
}

void prefetch_rows(const void* data, std::int64_t stride, std::int64_t row, std::int64_t rows) {
  constexpr std::int64_t kLine = 64;
  if (data == nullptr) return;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t byte = 0; byte < row; byte += kLine)
      __builtin_prefetch(static_cast<const char*>(data) + i * stride + byte, 0, 2);
}

/// Asks for the places of a tile while its product is computed: they are spread over more memory
/// than the caches nearby hold, and waiting for them afterwards took a tenth of the time.
void prefetch(const NewtonSchulzTile& t) {
  const std::int64_t bytes = t.bf16 ? 2 : 4;
  for (const void* left : {t.left, t.left_turned})
    prefetch_rows(left, t.left_stride * bytes, kSide * bytes, kSide);
  for (const void* right : {t.right, t.right_turned}) prefetch_rows(right, 0, kElements * bytes, 1);
  prefetch_rows(t.kept, 0, kElements * 4, 1);
}

/// Zeros outside the first rows and columns: factors are padded to whole tiles by them.
void clear_outside(float* tile, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row)
    std::fill(tile + row * kSide + columns, tile + (row + 1) * kSide, 0.0F);
  std::fill(tile + rows * kSide, tile + kElements, 0.0F);
}

}  // namespace

NewtonSchulzIterations::NewtonSchulzIterations(std::int64_t rows, std::int64_t columns, bool bf16)
    : rows_(rows),
      columns_(columns),
      bf16_(bf16 && has_bfloat16_products()),
      bytes_(bf16_ ? 2 : 4),
      blocks_(panel_count(rows)),
      panels_(panel_count(columns)) {
  for (std::int64_t block = 0; block < blocks_; ++block)
    for (std::int64_t other = block; other < blocks_; ++other) upper_.emplace_back(block, other);
  const std::int64_t x = blocks_ * panels_ * kElements * bytes_;
  const std::int64_t gram = blocks_ * blocks_ * kElements;
  memory_ = at::empty({4 * x + 3 * gram * bytes_ + (bf16_ ? 4 * gram : 0)},
                      at::TensorOptions().dtype(at::kByte));
  char* place = static_cast<char*>(memory_.mutable_data_ptr());
  const auto take = [&place](std::int64_t bytes) {
    char* const taken = place;
    place += bytes;
    return taken;
  };
  x_left_ = take(x);
  x_panels_[0] = take(x);
  x_panels_[1] = take(x);
  x_turned_ = take(x);
  gram_left_ = take(gram * bytes_);
  gram_panels_ = take(gram * bytes_);
  square_left_ = take(gram * bytes_);
  kept_ = bf16_ ? reinterpret_cast<float*>(place) : nullptr;
}

std::int64_t NewtonSchulzIterations::rows_of(std::int64_t block) const {
  return std::min(kSide, rows_ - block * kSide);
}
std::int64_t NewtonSchulzIterations::columns_of(std::int64_t panel) const {
  return std::min(kSide, columns_ - panel * kSide);
}

char* NewtonSchulzIterations::x_left(std::int64_t block, std::int64_t panel) const {
  return x_left_ + (block * panels_ * kElements + panel * kSide) * bytes_;
}
char* NewtonSchulzIterations::x_panel(int which, std::int64_t panel, std::int64_t block) const {
  return x_panels_[which] + (panel * blocks_ + block) * kElements * bytes_;
}
char* NewtonSchulzIterations::x_turned(std::int64_t block, std::int64_t panel) const {
  return x_turned_ + (block * panels_ + panel) * kElements * bytes_;
}
char* NewtonSchulzIterations::gram_left(std::int64_t block, std::int64_t other) const {
  return gram_left_ + (block * blocks_ * kElements + other * kSide) * bytes_;
}
char* NewtonSchulzIterations::gram_panel(std::int64_t other, std::int64_t block) const {
  return gram_panels_ + (other * blocks_ + block) * kElements * bytes_;
}
char* NewtonSchulzIterations::square_left(std::int64_t block, std::int64_t other) const {
  return square_left_ + (block * blocks_ * kElements + other * kSide) * bytes_;
}
float* NewtonSchulzIterations::kept(std::int64_t block, std::int64_t other) const {
  return kept_ == nullptr ? nullptr : kept_ + (block * blocks_ + other) * kElements;
}

/// Two tiles of this thread.
float* NewtonSchulzIterations::sums() const {
  return thread_scratch(2 * kElements);
}

void NewtonSchulzIterations::multiply_tile(const char* left, std::int64_t left_stride,
                                           const char* panel, std::int64_t depth,
                                           const TilePair& tile, float* sums) const {
  PanelProduct p;
  p.a = left;
  p.a_stride = left_stride;
  p.b = panel;
  p.depth = bf16_ ? round_up(depth, 2) : depth;
  p.c = sums;
  p.c_stride = kSide;
  p.bf16 = bf16_;
  p.rows = rows_of(tile.first);
  p.columns = columns_of(tile.second);
  multiply(p);
  if (p.rows < kSide || p.columns < kSide) clear_outside(sums, p.rows, p.columns);
}

/// The same of a symmetric product: of a tile on the diagonal the lower left quarter isn't
/// computed.
void NewtonSchulzIterations::multiply_upper(const char* left, std::int64_t left_stride,
                                            const char* panel, std::int64_t depth,
                                            const TilePair& tile, float* sums) const {
  if (tile.first != tile.second || rows_of(tile.first) < kSide) {
    multiply_tile(left, left_stride, panel, depth, tile, sums);
    return;
  }
  constexpr std::int64_t kHalf = kSide / 2;
  PanelProduct p;
  p.a = left;
  p.a_stride = left_stride;
  p.b = panel;
  p.depth = bf16_ ? round_up(depth, 2) : depth;
  p.c = sums;
  p.c_stride = kSide;
  p.bf16 = bf16_;
  p.rows = kHalf;
  p.columns = kSide;
  multiply(p);
  p.a = left + kHalf * left_stride * bytes_;
  p.b = panel + kHalf * (bf16_ ? 2 : 1) * bytes_;  // rows of a bfloat16 panel lie in pairs
  p.c = sums + kHalf * kSide + kHalf;
  p.columns = kHalf;
  multiply(p);
}

double NewtonSchulzIterations::norm(const FloatMatrix& g) const {
  const std::int64_t rows = g.turned ? columns_ : rows_, columns = g.turned ? rows_ : columns_;
  const std::int64_t count = panel_count(rows);
  std::vector<double> parts(static_cast<std::size_t>(count));
  parallel_tasks(count, [&](std::int64_t i) {
    parts[static_cast<std::size_t>(i)] = kernels().square_sum(
        g.data + i * kSide * g.stride, g.stride, std::min(kSide, rows - i * kSide), columns);
  });
  double total = 0;
  for (const double part : parts) total += part;
  return std::sqrt(total);
}

/// Where a new tile of X goes: to all places of factors, or to the result only.
NewtonSchulzTile NewtonSchulzIterations::tile_of_x(const TilePair& tile,
                                                   const FloatMatrix* out) const {
  const auto [block, panel] = tile;
  NewtonSchulzTile t;
  t.sums = sums();
  t.turned = t.sums + kElements;
  if (out != nullptr) {
    t.out = part_of(*out, block * kSide, panel * kSide);
    t.rows = rows_of(block);
    t.columns = columns_of(panel);
    return t;
  }
  t.bf16 = bf16_;
  t.left = x_left(block, panel);
  t.left_stride = panels_ * kSide;
  t.right = x_panel(1 - current_, panel, block);
  t.right_turned = x_turned(block, panel);
  return t;
}

void NewtonSchulzIterations::start(const FloatMatrix& g, const FloatMatrix* out) {
  const auto scale = static_cast<float>(1 / (norm(g) + kNewtonSchulzEpsilon));
  parallel_tasks(blocks_ * panels_, [&](std::int64_t task) {
    const TilePair tile{task / panels_, task % panels_};
    const NewtonSchulzTile t = tile_of_x(tile, out);
    prefetch(t);
    kernels().load(part_of(g, tile.first * kSide, tile.second * kSide), rows_of(tile.first),
                   columns_of(tile.second), scale, t.sums, t.turned);
    kernels().finish(t);
  });
  current_ = 1 - current_;
}

/// A = X X^T
void NewtonSchulzIterations::gram() {
  parallel_tasks(static_cast<std::int64_t>(upper_.size()), [&](std::int64_t task) {
    const auto [block, other] = upper_[static_cast<std::size_t>(task)];
    NewtonSchulzTile t;
    t.sums = sums();
    t.turned = t.sums + kElements;
    t.bf16 = bf16_;
    t.kept = kept(block, other);
    t.left_stride = blocks_ * kSide;
    t.left = gram_left(block, other);
    t.right = gram_panel(other, block);
    t.symmetric = block == other;
    if (!t.symmetric) {
      t.left_turned = gram_left(other, block);
      t.right_turned = gram_panel(block, other);
    }
    prefetch(t);
    multiply_upper(x_left(block, 0), panels_ * kSide, x_turned(other, 0), columns_, {block, other},
                   t.sums);
    kernels().finish(t);
  });
}

/// Q = b A + c A A
void NewtonSchulzIterations::square(const NewtonSchulzStep& step) {
  parallel_tasks(static_cast<std::int64_t>(upper_.size()), [&](std::int64_t task) {
    const auto [block, other] = upper_[static_cast<std::size_t>(task)];
    NewtonSchulzTile t;
    t.sums = sums();
    t.turned = t.sums + kElements;
    t.bf16 = bf16_;
    t.sum_scale = static_cast<float>(step.c);
    t.add_scale = static_cast<float>(step.b);
    t.add = kept_ != nullptr ? reinterpret_cast<const char*>(kept(block, other))
                             : gram_left(block, other);
    t.add_stride = kept_ != nullptr ? kSide : blocks_ * kSide;
    t.left_stride = blocks_ * kSide;
    t.left = square_left(block, other);
    t.symmetric = block == other;
    if (!t.symmetric) t.left_turned = square_left(other, block);
    prefetch(t);
    multiply_upper(gram_left(block, 0), blocks_ * kSide, gram_panel(other, 0), rows_,
                   {block, other}, t.sums);
    kernels().finish(t);
  });
}

/// X = a X + Q X
void NewtonSchulzIterations::next(const NewtonSchulzStep& step, const FloatMatrix* out) {
  const std::int64_t groups = (blocks_ + kBlocksPerTask - 1) / kBlocksPerTask;
  parallel_tasks(groups * panels_, [&](std::int64_t task) {
    const std::int64_t first = task / panels_ * kBlocksPerTask, panel = task % panels_;
    for (std::int64_t block = first; block < std::min(blocks_, first + kBlocksPerTask); ++block) {
      NewtonSchulzTile t = tile_of_x({block, panel}, out);
      t.add_scale = static_cast<float>(step.a);
      t.add = x_left(block, panel);
      t.add_stride = panels_ * kSide;
      t.add_bf16 = bf16_;
      prefetch(t);
      multiply_tile(square_left(block, 0), blocks_ * kSide, x_panel(current_, panel, 0), rows_,
                    {block, panel}, t.sums);
      kernels().finish(t);
    }
  });
  current_ = 1 - current_;
}

void NewtonSchulzIterations::run(const FloatMatrix& g, const std::vector<NewtonSchulzStep>& steps,
                                 const FloatMatrix& out) {
  start(g, steps.empty() ? &out : nullptr);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    gram();
    square(steps[i]);
    next(steps[i], i + 1 == steps.size() ? &out : nullptr);
  }
}

}  // namespace ttt::ops::cpu
