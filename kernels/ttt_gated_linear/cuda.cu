// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/cuda_launch.cuh"
#include "kernels/ttt_gated_linear/cuda.h"
#include "kernels/ttt_gated_linear/kernel.cuh"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace ttt::ops::cuda {
namespace {

constexpr int kMaxChunks = 256;
constexpr int kWideBlockTokens = 4 * kTileTokens;
constexpr std::int64_t kManyBlocks = 512;  // more than any GPU runs at a time

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return ceil_divide(value, multiple) * multiple;
}

std::int64_t matrices(const GatedLinearSizes& sizes) {
  return sizes.batch * sizes.heads;
}

/// Tokens of a chunk of the sums: so many that writing and reading the partial sums of a chunk
/// stays well below reading its tokens.
std::int64_t sums_chunk(const GatedLinearSizes& sizes) {
  const std::int64_t least = sizes.width <= 32 ? 256 : 8 * sizes.width;
  const std::int64_t chunk =
      round_up(std::max(least, ceil_divide(sizes.tokens, kMaxChunks)), kTileTokens);
  const bool one = sizes.tokens <= chunk + chunk / 2;
  return one ? round_up(std::max<std::int64_t>(1, sizes.tokens), kTileTokens) : chunk;
}

std::int64_t chunk_count(const GatedLinearSizes& sizes, std::int64_t chunk) {
  return std::max<std::int64_t>(1, ceil_divide(sizes.tokens, chunk));
}

/// Tokens of a block of the kernels without sums, where it changes nothing but the speed.
std::int64_t token_chunk(const GatedLinearSizes& sizes) {
  if (sizes.block_tokens > 0) return round_up(sizes.block_tokens, kTileTokens);
  const bool many = matrices(sizes) * ceil_divide(sizes.tokens, kWideBlockTokens) >= kManyBlocks;
  return many ? kWideBlockTokens : kTileTokens;
}

template <typename T>
bool can_use_vectors(const GatedLinearSizes& sizes,
                     std::initializer_list<std::pair<const void*, TokenStrides>> activations) {
  bool aligned = sizes.width % kVectorElements<T> == 0;
  for (const auto& [data, strides] : activations)
    aligned = aligned &&
              is_aligned(sizeof(T), kVectorElements<T>, {data}, {strides.batch, strides.token});
  return aligned;
}

GatedProblem make_problem(const GatedLinearSizes& sizes, std::int64_t chunk) {
  if (sizes.width > kMaxHeadWidth)
    throw Failure("heads of " + std::to_string(sizes.width) +
                      " channels are too wide for the GPU, " + "which takes up to " +
                      std::to_string(kMaxHeadWidth),
                  false);
  GatedProblem problem{};
  problem.tokens = static_cast<int>(sizes.tokens);
  problem.heads = static_cast<int>(sizes.heads);
  problem.width = static_cast<int>(sizes.width);
  problem.chunk_tokens = static_cast<int>(chunk);
  problem.chunks = static_cast<int>(chunk_count(sizes, chunk));
  problem.slices = 1;
  return problem;
}

/// Calls body(T{}, integral constant) with the head width that the kernel is compiled for.
template <typename Body>
void with_kernel(DataType type, std::int64_t width, const Body& body) {
  with_element_type(type, [&](auto element) {
    if (width <= 32) return body(element, std::integral_constant<int, 32>{});
    if (width <= 64) return body(element, std::integral_constant<int, 64>{});
    if (width <= 80) return body(element, std::integral_constant<int, 80>{});
    body(element, std::integral_constant<int, 128>{});
  });
}

/// Sums over the tokens into their final place; `problem` has its activations and matrices.
template <typename T, int kDepth, GatedPass kPass>
void launch_sums(GatedProblem problem, const GatedLinearSizes& sizes, const GatedSums& sums,
                 const Stream& stream) {
  using Shared = SumsShared<T, kDepth, kPass>;
  problem.slices = static_cast<int>(ceil_divide(problem.width, Shared::kColumns));
  const std::int64_t blocks = matrices(sizes) * problem.chunks * problem.slices;
  launch("ttt_gated_linear sums", gated_sums_kernel<T, kDepth, kPass>,
         {blocks, kGatedThreads, Shared::kBytes}, stream, problem, sums);
  if (problem.chunks == 1) return;
  problem.slices = 2 * static_cast<int>(ceil_divide(problem.width, kFinishColumns));
  launch("ttt_gated_linear finish", gated_finish_kernel,
         {matrices(sizes) * problem.slices, kGatedThreads,
          problem.width * kFinishColumns * static_cast<int>(sizeof(float))},
         stream, problem, sums);
}

template <typename T, int kDepth, GatedPass kPass>
void launch_gradient(GatedProblem problem, const GatedLinearSizes& sizes, const Stream& stream) {
  launch(
      "ttt_gated_linear gradient", gated_gradient_kernel<T, kDepth, kPass>,
      {matrices(sizes) * problem.chunks, kGatedThreads, GradientShared<T, kDepth, kPass>::kBytes},
      stream, problem);
}

}  // namespace

std::int64_t gated_linear_workspace(const GatedLinearSizes& sizes) {
  const std::int64_t chunks = chunk_count(sizes, sums_chunk(sizes));
  return chunks == 1 ? 0 : matrices(sizes) * chunks * 2 * sizes.width * sizes.width;
}

std::int64_t gated_linear_backward_workspace(const GatedLinearSizes& sizes) {
  return gated_linear_workspace(sizes) + matrices(sizes) * 2 * sizes.width * sizes.width;
}

void launch_gated_linear_step(const GatedLinearStepLaunch& arguments, const Stream& stream) {
  const GatedLinearSizes& sizes = arguments.sizes;
  GatedProblem problem = make_problem(sizes, sums_chunk(sizes));
  problem.x = arguments.k;
  problem.rope = arguments.rope;
  problem.y = arguments.v;
  problem.matrices[0] = arguments.weights;
  GatedSums sums{};
  sums.partial = arguments.workspace;
  sums.clip = true;
  sums.scale = sizes.tokens > 0 ? -1 / (3 * static_cast<float>(sizes.tokens)) : 0;
  sums.base = arguments.weights;
  sums.out = arguments.new_weights;
  sums.gradients = arguments.gradients;
  with_kernel(arguments.type, sizes.width, [&](auto element, auto depth) {
    using T = decltype(element);
    problem.vectors = can_use_vectors<T>(
        sizes, {{arguments.k.data, arguments.k.strides}, {arguments.v.data, arguments.v.strides}});
    launch_sums<T, depth(), GatedPass::forward>(problem, sizes, sums, stream);
  });
}

void launch_gated_linear_step_backward(const GatedLinearStepBackwardLaunch& arguments,
                                       const Stream& stream) {
  const GatedLinearSizes& sizes = arguments.sizes;
  const std::int64_t elements = matrices(sizes) * sizes.width * sizes.width;
  GatedProblem problem = make_problem(sizes, sums_chunk(sizes));
  problem.x = arguments.k;
  problem.rope = arguments.rope;
  problem.y = arguments.v;
  problem.out = arguments.dv;
  GatedSums factors{};
  factors.scale = sizes.tokens > 0 ? -1 / (3 * static_cast<float>(sizes.tokens)) : 0;
  factors.base = arguments.gradients;
  factors.out = {arguments.workspace, arguments.workspace + elements};
  GatedProblem whole = problem;
  whole.slices = 2 * static_cast<int>(ceil_divide(problem.width, kFinishColumns));
  launch("ttt_gated_linear factors", gated_factors_kernel,
         {matrices(sizes) * whole.slices, kGatedThreads}, stream, whole, factors,
         arguments.d_new_weights);
  problem.matrices[0] = arguments.weights;
  problem.matrices[1] = {factors.out.first, factors.out.second,
                         sizes.heads * sizes.width * sizes.width};
  GatedSums sums{};
  sums.partial = arguments.workspace + 2 * elements;
  sums.base = arguments.d_new_weights;
  sums.out = arguments.d_weights;
  with_kernel(arguments.type, sizes.width, [&](auto element, auto depth) {
    using T = decltype(element);
    problem.vectors = can_use_vectors<T>(sizes, {{arguments.k.data, arguments.k.strides},
                                                 {arguments.v.data, arguments.v.strides},
                                                 {arguments.dk.data, arguments.dk.strides},
                                                 {arguments.dv.data, arguments.dv.strides}});
    launch_sums<T, depth(), GatedPass::step_backward>(problem, sizes, sums, stream);
    GatedProblem gradient = problem;
    gradient.chunk_tokens = static_cast<int>(token_chunk(sizes));
    gradient.chunks = static_cast<int>(ceil_divide(sizes.tokens, gradient.chunk_tokens));
    gradient.out = arguments.dk;
    launch_gradient<T, depth(), GatedPass::step_backward>(gradient, sizes, stream);
  });
}

void launch_gated_linear_apply(const GatedLinearApplyLaunch& arguments, const Stream& stream) {
  const GatedLinearSizes& sizes = arguments.sizes;
  GatedProblem problem = make_problem(sizes, token_chunk(sizes));
  problem.x = arguments.q;
  problem.rope = arguments.rope;
  problem.out = arguments.out;
  problem.matrices[0] = arguments.weights;
  with_kernel(arguments.type, sizes.width, [&](auto element, auto depth) {
    using T = decltype(element);
    using Shared = ApplyShared<T, depth()>;
    problem.vectors = can_use_vectors<T>(sizes, {{arguments.q.data, arguments.q.strides},
                                                 {arguments.out.data, arguments.out.strides}});
    problem.slices = static_cast<int>(ceil_divide(problem.width, Shared::kColumns));
    const std::int64_t blocks = sizes.tokens == 0 ? 0 : matrices(sizes) * problem.chunks;
    launch("ttt_gated_linear apply", gated_apply_kernel<T, depth()>,
           {blocks * problem.slices, kGatedThreads, Shared::kBytes}, stream, problem);
  });
}

void launch_gated_linear_apply_backward(const GatedLinearApplyBackwardLaunch& arguments,
                                        const Stream& stream) {
  const GatedLinearSizes& sizes = arguments.sizes;
  GatedProblem problem = make_problem(sizes, sums_chunk(sizes));
  problem.x = arguments.q;
  problem.rope = arguments.rope;
  problem.y = arguments.dout;
  problem.matrices[0] = arguments.weights;
  GatedSums sums{};
  sums.partial = arguments.workspace;
  sums.out = arguments.d_weights;
  with_kernel(arguments.type, sizes.width, [&](auto element, auto depth) {
    using T = decltype(element);
    problem.vectors = can_use_vectors<T>(sizes, {{arguments.q.data, arguments.q.strides},
                                                 {arguments.dout.data, arguments.dout.strides},
                                                 {arguments.dq.data, arguments.dq.strides}});
    launch_sums<T, depth(), GatedPass::forward>(problem, sizes, sums, stream);
    GatedProblem gradient = problem;
    gradient.chunk_tokens = static_cast<int>(token_chunk(sizes));
    gradient.chunks = static_cast<int>(ceil_divide(sizes.tokens, gradient.chunk_tokens));
    gradient.out = arguments.dq;
    launch_gradient<T, depth(), GatedPass::forward>(gradient, sizes, stream);
  });
}

}  // namespace ttt::ops::cuda
