// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/classifier.h"

#include <algorithm>

namespace ttt::vision {
namespace {

constexpr std::int64_t kFloatBytes = 4;

/// Maps [N,C] that an inner step without an op of its own holds at once: keys, values, prediction
/// and error, and what is between; convolutions read nine neighbours of every token.
std::int64_t inner_maps(const InnerConfig& inner) {
  constexpr std::int64_t kEnds = 4;
  switch (inner.model) {
    case InnerModelKind::conv:
    case InnerModelKind::depthwise:
      return kEnds + 3 * 9;
    case InnerModelKind::mlp2:
      return kEnds + 3 * inner.width;
    case InnerModelKind::mlp3:
    case InnerModelKind::swiglu:
      return kEnds + 5 * inner.width;
    default:
      return inner.is_published() ? 0 : kEnds + 5;
  }
}

/// Elements that a transformer block holds at once: its input, the residual stream, and the TTT
/// part, for the MLP works on a few rows at a time. Both write their results into the stream, the
/// published TTT block its inner ones into the projection qkv; others hold the normalised tokens,
/// the mixed ones, and the result.
template <typename Config>
std::int64_t block_elements(const Config& c, std::int64_t tokens, std::int64_t dim,
                            std::int64_t heads) {
  const std::int64_t head_dim = dim / heads;
  const std::int64_t projection = 3 * dim + 3 * head_dim;
  const std::int64_t inner = c.inner.is_published()
                                 ? projection
                                 : projection + 3 * dim + head_dim + inner_maps(c.inner) * dim;
  return tokens * (2 * dim + inner);
}

std::int64_t activation_elements(const Vit3Config& c, std::int64_t width, std::int64_t height) {
  const std::int64_t tokens = (width / c.patch) * (height / c.patch);
  return block_elements(c, tokens, c.dim, c.heads);
}

std::int64_t activation_elements(const HVit3Config& c, std::int64_t width, std::int64_t height) {
  // The stem's widest moment: its fourth convolution reads half-size and writes quarter-size maps.
  std::int64_t peak = width * height / 4 * c.dims[0] / 2 * 2;
  peak = std::max(peak, width * height / 4 * c.dims[0] / 2 + width * height / 16 * 4 * c.dims[0]);
  for (std::size_t i = 0; i < kStages; ++i) {
    const std::int64_t stride = std::int64_t{4} << i;
    const std::int64_t tokens = (width / stride) * (height / stride);
    peak = std::max(peak, block_elements(c, tokens, c.dims[i], c.heads[i]));
    // Patch merging expands to four times the next stage's channels before it shrinks the grid.
    if (i + 1 < kStages)
      peak = std::max(peak, tokens * (c.dims[i] + 4 * c.dims[i + 1] + c.dims[i + 1]));
  }
  return peak;
}

std::int64_t block_parameters(std::int64_t dim, std::int64_t heads, std::int64_t mlp_ratio) {
  const std::int64_t head_dim = dim / heads;
  return dim * (3 * dim + 3 * head_dim) + dim * (dim + head_dim) + 2 * mlp_ratio * dim * dim +
         2 * heads * head_dim * head_dim;
}

/// Elements that the blocks of a stage keep for their backward pass. Measured: LibTorch and our ops
/// keep 13 to 15 maps of the tokens per block, up to 24 where the MLP, four times as wide, has two
/// convolutions; inner models without an op of their own keep all they compute.
std::int64_t kept_elements(const InnerConfig& inner, std::int64_t blocks, std::int64_t elements,
                           bool depthwise_mlp) {
  constexpr std::int64_t kKept = 16, kKeptDepthwise = 24;
  const std::int64_t maps = (depthwise_mlp ? kKeptDepthwise : kKept) + 2 * inner_maps(inner);
  return blocks * elements * maps;
}

std::int64_t training_elements(const Vit3Config& c, std::int64_t width, std::int64_t height) {
  const std::int64_t tokens = (width / c.patch) * (height / c.patch);
  return kept_elements(c.inner, c.depth, tokens * c.dim, false);
}

std::int64_t training_elements(const HVit3Config& c, std::int64_t width, std::int64_t height) {
  // Convolutions with a norm keep what is before and behind it: three of half, one of a quarter of
  // the side with four times the channels, and the narrow one behind.
  const std::int64_t pixels = width * height;
  std::int64_t sum = 2 * (3 * pixels / 4 * c.dims[0] / 2 + pixels / 16 * 5 * c.dims[0]);
  for (std::size_t i = 0; i < kStages; ++i) {
    const std::int64_t stride = std::int64_t{4} << i;
    const std::int64_t tokens = (width / stride) * (height / stride);
    sum += kept_elements(c.inner, c.depths[i], tokens * c.dims[i], true);
    // Patch merging: four times the next stage's channels, on this grid and on the next.
    if (i + 1 < kStages) sum += 2 * (tokens + tokens / 4) * 4 * c.dims[i + 1];
  }
  return sum;
}

/// The large matrices alone; biases and norms don't matter for an estimate.
std::int64_t parameter_elements(const Vit3Config& c) {
  return c.depth * block_parameters(c.dim, c.heads, c.mlp_ratio) + 3 * c.patch * c.patch * c.dim +
         c.classes * c.dim;
}

std::int64_t parameter_elements(const HVit3Config& c) {
  std::int64_t sum = c.classes * c.dims.back();
  for (std::size_t i = 0; i < kStages; ++i) {
    sum += c.depths[i] * block_parameters(c.dims[i], c.heads[i], c.mlp_ratio);
    if (i + 1 < kStages) sum += 4 * c.dims[i + 1] * (c.dims[i] + c.dims[i + 1]);
  }
  return sum;
}

/// Bytes of an element between the layers. The reference, which also is all there is for fp16 on
/// CPUs, computes in double: the two maps of an operation are there a second time.
std::int64_t element_bytes(c10::ScalarType dtype, ops::Backend backend) {
  const bool in_double = backend == ops::Backend::reference || dtype == c10::ScalarType::Half;
  return in_double ? 2 * static_cast<std::int64_t>(sizeof(double))
                   : static_cast<std::int64_t>(c10::elementSize(dtype));
}

}  // namespace

std::int64_t estimate_memory(const ModelSpec& spec, std::int64_t batch, std::int64_t width,
                             std::int64_t height, c10::ScalarType dtype, ops::Backend backend) {
  const auto bytes = static_cast<std::int64_t>(c10::elementSize(dtype));
  return std::visit(
      [&](const auto& config) {
        const std::int64_t parameters = parameter_elements(config);
        // Weights are read as fp32, then converted, then laid out for the products.
        const std::int64_t weights =
            parameters *
            (dtype == c10::ScalarType::Float ? 2 * kFloatBytes : kFloatBytes + 2 * bytes);
        // A batch as stacked and as converted, and the two batches that are prepared ahead.
        const std::int64_t pictures = 3 * width * height * (4 * kFloatBytes + bytes);
        const std::int64_t activations =
            activation_elements(config, width, height) * element_bytes(dtype, backend);
        return weights + batch * (pictures + activations);
      },
      spec.config);
}

std::int64_t estimate_training_memory(const ModelSpec& spec, std::int64_t batch, std::int64_t width,
                                      std::int64_t height, c10::ScalarType dtype,
                                      ops::Backend backend) {
  const auto bytes = static_cast<std::int64_t>(c10::elementSize(dtype));
  return std::visit(
      [&](const auto& config) {
        const std::int64_t parameters = parameter_elements(config);
        // The parameters, their gradients, two moments, and the copies that autocast makes.
        const std::int64_t states =
            parameters * (4 * kFloatBytes + (dtype == c10::ScalarType::Float ? 0 : bytes));
        const std::int64_t pictures = 3 * width * height * (kFloatBytes + bytes);
        const std::int64_t kept =
            batch *
            (pictures + training_elements(config, width, height) * bytes +
             activation_elements(config, width, height) * (element_bytes(dtype, backend) - bytes));
        return states + kept;
      },
      spec.config);
}

}  // namespace ttt::vision
