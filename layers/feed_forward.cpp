// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/feed_forward.h"

#include "kernels/support/parallel.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>

namespace ttt::layers {
namespace {

// Enough rows that a call costs nothing beside its products; few enough that what is between the
// maps stays in the second-level cache.
constexpr std::int64_t kRows = 256;
// With less for a thread the maps cut their work better themselves.
constexpr std::int64_t kTokensPerThread = 64;

/// The rows of all grids of a batch, one below the other, through an MLP with a convolution. Every
/// thread takes a part of them from top to bottom, a band at a time, and keeps the hidden rows that
/// the next band needs as well.
class GridBands {
 public:
  GridBands(const at::Tensor& x, const DepthwiseFeedForward& layers, ops::Backend backend)
      : rows_(x.view({x.size(0) * x.size(1), x.size(2), x.size(3)})),
        height_(x.size(1)),
        width_(x.size(2)),
        hidden_(layers.first.weight.size(0)),
        parts_(at::get_num_threads()),
        band_(std::max<std::int64_t>(2, kRows / std::max<std::int64_t>(1, width_))),
        layers_(layers),
        backend_(backend) {}

  bool feed_all_threads() const { return rows_.size(0) * width_ >= parts_ * kTokensPerThread; }

  void add() const {
    const at::Tensor seams = find_seams();
    ops::parallel_parts(parts_, [&](std::int64_t part) { add_part(part, seams); });
  }

 private:
  std::int64_t first_row(std::int64_t part) const { return rows_.size(0) * part / parts_; }
  at::Tensor empty_hidden(at::IntArrayRef sizes) const { return at::empty(sizes, rows_.options()); }

  /// Hidden rows from `row` on, as many as `out` [n, w, H] takes.
  void find_hidden(std::int64_t row, const at::Tensor& out) const {
    layers_.first.forward_into(
        out, rows_.narrow(0, row, out.size(0)),
        {.activation = ops::LinearActivation::gelu, .norm = layers_.norm.fused()}, backend_);
  }

  /// The hidden rows on both sides of the seam in front of each part [parts, 2, w, H]: the first
  /// part to reach it overwrites what the other one would compute them from.
  at::Tensor find_seams() const {
    const at::Tensor seams = empty_hidden({parts_, 2, width_, hidden_});
    for (std::int64_t part = 1; part < parts_; ++part)
      if (const std::int64_t row = first_row(part); row % height_ != 0)
        find_hidden(row - 1, seams[part]);
    return seams;
  }

  void add_part(std::int64_t part, const at::Tensor& seams) const {
    const std::int64_t end = first_row(part + 1);
    std::int64_t known = first_row(part);  // the first row that is not in `hidden`
    const at::Tensor hidden = empty_hidden({band_ + 2, width_, hidden_});  // from row first - 1 on
    const at::Tensor convolved = empty_hidden({band_, width_, hidden_});
    if (known % height_ != 0) hidden[0].copy_(seams[part][0]);
    for (std::int64_t first = known; first < end; first += band_) {
      const std::int64_t count = std::min(band_, end - first);
      const std::int64_t next = std::min(first + count + 1, end);
      if (known < next) find_hidden(known, hidden.narrow(0, known - first + 1, next - known));
      known = next;
      if (first + count == end && end % height_ != 0) hidden[count + 1].copy_(seams[part + 1][1]);
      add_band(first, hidden.narrow(0, 0, count + 2), convolved.narrow(0, 0, count));
      if (first + count < end) hidden.narrow(0, 0, 2).copy_(hidden.narrow(0, band_, 2));
    }
  }

  /// The second half of the MLP, for hidden rows first - 1 to first + n.
  void add_band(std::int64_t first, const at::Tensor& hidden, const at::Tensor& convolved) const {
    const at::Tensor rows = rows_.narrow(0, first, convolved.size(0));
    ops::depthwise_conv3x3_rows(
        {hidden, first, height_}, *layers_.convolution.packed_for(hidden.scalar_type()),
        {.add_input = true, .activation = ops::Activation::gelu}, convolved);
    layers_.second.forward_into(rows, convolved, {.residual = rows}, backend_);
  }

  at::Tensor rows_;  // [B h, w, C]
  std::int64_t height_, width_, hidden_, parts_, band_;
  DepthwiseFeedForward layers_;
  ops::Backend backend_;
};

}  // namespace

bool add_feed_forward(const at::Tensor& x, const LayerNorm& norm, const Linear& first,
                      ops::LinearActivation activation, const Linear& second,
                      ops::Backend backend) {
  if (!x.is_cpu() || !x.is_contiguous() || !first.computes_into(x) || !second.computes_into(x))
    return false;
  const at::Tensor rows = x.view({-1, x.size(-1)});
  const std::int64_t count = rows.size(0);
  const at::Tensor hidden = at::empty({std::min(kRows, count), first.weight.size(0)}, x.options());
  for (std::int64_t row = 0; row < count; row += kRows) {
    const std::int64_t here = std::min(kRows, count - row);
    const at::Tensor part = rows.narrow(0, row, here), between = hidden.narrow(0, 0, here);
    first.forward_into(between, part, {.activation = activation, .norm = norm.fused()}, backend);
    second.forward_into(part, between, {.residual = part}, backend);
  }
  return true;
}

bool add_depthwise_feed_forward(const at::Tensor& x, const DepthwiseFeedForward& layers,
                                ops::Backend backend) {
  const ops::Backend chosen = backend == ops::Backend::automatic ? ops::default_backend() : backend;
  const at::ScalarType dtype = x.scalar_type();
  if (chosen != ops::Backend::automatic && chosen != ops::Backend::cpu) return false;
  if (dtype != at::kFloat && dtype != at::kBFloat16) return false;
  if (!x.is_cpu() || !x.is_contiguous() || !layers.first.computes_into(x) ||
      !layers.second.computes_into(x) || layers.convolution.packed_for(dtype) == nullptr)
    return false;
  const GridBands bands(x, layers, backend);
  if (!bands.feed_all_threads()) return false;
  bands.add();
  return true;
}

}  // namespace ttt::layers
