// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/newton_schulz/cpu_tiles.h"

#include "kernels/newton_schulz/backends.h"
#include "kernels/support/cpu_gemm.h"
#include "kernels/support/cpu_isa.h"
#include "kernels/support/scratch.h"

#include <algorithm>
#include <cmath>

namespace ttt::ops::cpu {
namespace {

constexpr std::int64_t kSide = kNewtonSchulzTile;
constexpr std::int64_t kElements = kSide * kSide;
static_assert(kSide == kPanelColumns);
// Row blocks that meet a panel one after the other, and how much of its rows they meet at a time:
// the panel is read many times for each of them and then stays in the second-level cache, while the
// left factor's rows, which are read once, may come from further away.
constexpr std::int64_t kMostBlocks = 8;
constexpr std::int64_t kDepthBytes = 2048;
constexpr std::int64_t kTasksPerThread = 4;
constexpr int kWorkspaceSlot = 1;  // of the thread's scratch; tiles use the first one

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
  const auto most_blocks = [](std::int64_t tiles) {
    const std::int64_t wanted = tiles / (kTasksPerThread * at::get_num_threads());
    return std::clamp<std::int64_t>(wanted, 1, kMostBlocks);
  };
  const auto add = [](std::vector<Task>& tasks, std::int64_t panel, std::int64_t blocks,
                      std::int64_t most) {
    for (std::int64_t first = 0; first < blocks; first += most)
      tasks.push_back({panel, first, std::min(blocks, first + most)});
  };
  const std::int64_t most_upper = most_blocks(blocks_ * blocks_);
  for (std::int64_t panel = 0; panel < blocks_; ++panel) add(upper_, panel, panel + 1, most_upper);
  for (std::int64_t panel = 0; panel < panels_; ++panel)
    add(all_, panel, blocks_, most_blocks(blocks_ * panels_));
  std::stable_sort(upper_.begin(), upper_.end(),
                   [](const Task& a, const Task& b) { return a.end - a.first > b.end - b.first; });
  const std::int64_t x = blocks_ * panels_ * kElements * bytes_;
  const std::int64_t gram = blocks_ * blocks_ * kElements;
  // Kept from call to call: the system's pages for it would take a twentieth of the time.
  const std::int64_t all = 4 * x + 3 * gram * bytes_ + (bf16_ ? 4 * gram : 0);
  char* place = reinterpret_cast<char*>(
      thread_scratch<kWorkspaceSlot>(static_cast<std::size_t>(all) / sizeof(float)));
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

/// A tile, with zeros behind the product's rows and columns: they pad the next factors.
void NewtonSchulzIterations::multiply_tile(const PanelProduct& product) const {
  multiply(product);
  if (product.rows < kSide || product.columns < kSide)
    clear_outside(product.c, product.rows, product.columns);
}

/// A tile on the diagonal of a symmetric product, without its lower left quarter.
void NewtonSchulzIterations::multiply_diagonal(const PanelProduct& product) const {
  if (product.rows < kSide) return multiply_tile(product);
  constexpr std::int64_t kHalf = kSide / 2;
  PanelProduct p = product;
  p.rows = kHalf;
  multiply(p);
  p.a = static_cast<const char*>(product.a) + kHalf * product.a_stride * bytes_;
  // Rows of a bfloat16 panel lie in pairs.
  p.b = static_cast<const char*>(product.b) + kHalf * (bf16_ ? 2 : 1) * bytes_;
  p.c = product.c + kHalf * kSide + kHalf;
  p.columns = kHalf;
  multiply(p);
}

/// The tasks' tiles of a product; describe(block, panel) says where a tile goes.
template <typename Describe>
void NewtonSchulzIterations::multiply_tiles(const std::vector<Task>& tasks, const Factors& factors,
                                            const Describe& describe) const {
  const std::int64_t padded = round_up(factors.depth, kSide), part = kDepthBytes / bytes_;
  const std::int64_t depth = bf16_ ? round_up(factors.depth, 2) : factors.depth;
  const auto run_part = [&](const Task& task, std::int64_t begin, float* scratch) {
    PanelProduct p;
    p.a_stride = padded;
    p.b = factors.panels + (task.panel * padded + begin) * kSide * bytes_;
    p.c_stride = kSide;
    p.bf16 = bf16_;
    p.depth = std::min(part, depth - begin);
    p.add = begin > 0;
    p.columns = std::min(kSide, factors.columns - task.panel * kSide);
    for (std::int64_t block = task.first; block < task.end; ++block) {
      p.rows = rows_of(block);
      p.a = factors.left + (block * kSide * padded + begin) * bytes_;
      p.c = scratch + (1 + block - task.first) * kElements;
      NewtonSchulzTile tile;
      const bool last = begin + part >= depth;
      if (last) {
        tile = describe(block, task.panel);
        tile.sums = p.c;
        tile.turned = scratch;
        prefetch(tile);
      }
      factors.symmetric&& block == task.panel ? multiply_diagonal(p) : multiply_tile(p);
      if (last) kernels().finish(tile);
    }
  };
  const auto run_task = [&](std::int64_t i) {
    float* const scratch = thread_scratch((1 + kMostBlocks) * kElements);
    for (std::int64_t begin = 0; begin < depth; begin += part)
      run_part(tasks[static_cast<std::size_t>(i)], begin, scratch);
  };
  const auto count = static_cast<std::int64_t>(tasks.size());
  factors.symmetric ? parallel_uneven_tasks(count, run_task) : parallel_tasks(count, run_task);
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
NewtonSchulzTile NewtonSchulzIterations::tile_of_x(std::int64_t block, std::int64_t panel,
                                                   const FloatMatrix* out) const {
  NewtonSchulzTile t;
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
    const std::int64_t block = task / panels_, panel = task % panels_;
    NewtonSchulzTile t = tile_of_x(block, panel, out);
    t.turned = thread_scratch(2 * kElements);
    t.sums = t.turned + kElements;
    prefetch(t);
    kernels().load(part_of(g, block * kSide, panel * kSide), rows_of(block), columns_of(panel),
                   scale, t.sums, t.turned);
    kernels().finish(t);
  });
  current_ = 1 - current_;
}

/// A = X X^T
void NewtonSchulzIterations::gram() {
  const Factors factors{x_left_, x_turned_, columns_, rows_, true};
  multiply_tiles(upper_, factors, [&](std::int64_t block, std::int64_t other) {
    NewtonSchulzTile t;
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
    return t;
  });
}

/// Q = b A + c A A
void NewtonSchulzIterations::square(const NewtonSchulzStep& step) {
  const Factors factors{gram_left_, gram_panels_, rows_, rows_, true};
  multiply_tiles(upper_, factors, [&](std::int64_t block, std::int64_t other) {
    NewtonSchulzTile t;
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
    return t;
  });
}

/// X = a X + Q X
void NewtonSchulzIterations::next(const NewtonSchulzStep& step, const FloatMatrix* out) {
  const Factors factors{square_left_, x_panels_[current_], rows_, columns_, false};
  multiply_tiles(all_, factors, [&](std::int64_t block, std::int64_t panel) {
    NewtonSchulzTile t = tile_of_x(block, panel, out);
    t.add_scale = static_cast<float>(step.a);
    t.add = x_left(block, panel);
    t.add_stride = panels_ * kSide;
    t.add_bf16 = bf16_;
    return t;
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
