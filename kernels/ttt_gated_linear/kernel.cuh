// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// With X (k or q) and Y (v or dout) of a sample and head, [tokens, width] each, all four passes of
// the op come down to three kernels over tiles of tokens, which share the products Z_i = X M_i:
//   sums      S_i = X^T R_i, [width, width]: the step's gradients, or the weights' gradients
//   apply     out = Z_1 * silu(Z_2)
//   gradient  out = sum_i R_i M_i^T: the input's gradient
// Matrices are M = (w1, w2), and in the step's backward pass also (s dG1, s dG2), s = -1/(3
// tokens). The first two are separate for each column of M, so their blocks take slices of columns.

#include "kernels/ttt_gated_linear/finish.cuh"

namespace ttt::ops::cuda {

template <GatedPass kPass>
constexpr int kMatrices = kPass == GatedPass::forward ? 2 : 4;

/// Z_i of 16 tokens; afterwards R_i.
template <typename T, int kColumns>
using GatedTile = Tile<T, kColumns, Layout::plain, Layout::plain>;

/// silu(z) and its first two derivatives.
struct Silu {
  float value, slope, curvature;
  __device__ __forceinline__ explicit Silu(float z) {
    const float sigmoid = 1 / (1 + expf(-z)), rest = 1 - sigmoid;
    value = z * sigmoid;
    slope = sigmoid * (1 + z * rest);
    curvature = sigmoid * rest * (2 + z * (1 - 2 * sigmoid));
  }
};

/// Z_i = X M_i for the 16 rows from `first` on.
template <typename Shared, int kCount, typename ZTile>
__device__ __forceinline__ void project(ZTile (&z)[kCount], int first, int depth) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    clear(z[i]);
    z[i].add_product(Shared::x(), first, Shared::matrix(i), depth);
  }
}

/// Replaces Z by R: with a = silu(Z2), forward: R1 = Y a, R2 = Y Z1 a'. In the step's backward
/// pass, where Z3, Z4 are those of s dG: R1 = dZ1, R2 = dZ2, and either R3 = dV (kWantOutput), or
/// R3 = Y a, R4 = Y Z1 a', the factors of s dG in the gradient of k.
template <bool kWantOutput, int kCount, typename ZTile, typename T>
__device__ __forceinline__ void gate(ZTile (&z)[kCount], const SharedMatrix<T, 1>& y, int first) {
#pragma unroll
  for (int run = 0; run < ZTile::kRuns; ++run) {
    float value[ZTile::kRunLength];
    y.get(first + ZTile::row(run), ZTile::column(run), value);
#pragma unroll
    for (int j = 0; j < ZTile::kRunLength; ++j) {
      const Silu a(z[1].values[run][j]);
      const float z1 = z[0].values[run][j], v = value[j];
      if constexpr (kCount == 2) {
        z[0].values[run][j] = v * a.value;
        z[1].values[run][j] = v * z1 * a.slope;
      } else {
        const float u1 = z[2].values[run][j], u2 = z[3].values[run][j];
        z[0].values[run][j] = u2 * v * a.slope;
        z[1].values[run][j] = v * (u1 * a.slope + u2 * z1 * a.curvature);
        z[2].values[run][j] = kWantOutput ? u1 * a.value + u2 * z1 * a.slope : v * a.value;
        z[3].values[run][j] = v * z1 * a.slope;
      }
    }
  }
}

/// The part of the sums that one warp holds: tiles [16, kColumns] of both results, dealt out in
/// turn.
template <typename T, int kDepth, int kColumns>
struct SumTiles {
  static constexpr int kTiles = 2 * kDepth / kWarpTokens;
  static constexpr int kPerWarp = (kTiles + kGatedWarps - 1) / kGatedWarps;
  Tile<T, kColumns, Layout::transposed, Layout::plain> tiles[kPerWarp];

  /// Calls visit(tile, result, first row) for each.
  template <typename Visit>
  __device__ __forceinline__ void for_each(const Visit& visit) {
#pragma unroll
    for (int i = 0; i < kPerWarp; ++i) {
      const int number = threadIdx.x / 32 + i * kGatedWarps;
      if (number < kTiles) visit(tiles[i], number % 2, number / 2 * kWarpTokens);
    }
  }
};

template <typename T, int kDepth, GatedPass kPass>
using SumsShared = GatedShared<T, kDepth, kMatrices<kPass>, 2>;

/// Sums over a chunk of the tokens, for a slice of columns; in the step's backward pass also dV.
template <typename T, int kDepth, GatedPass kPass>
__global__ void __launch_bounds__(kGatedThreads, kGatedBlocks<kDepth>)
    gated_sums_kernel(GatedProblem problem, GatedSums sums) {
  using Shared = SumsShared<T, kDepth, kPass>;
  constexpr int kColumns = Shared::kColumns;
  constexpr bool kBackward = kPass == GatedPass::step_backward;
  const GatedBlock block(problem);
  const int first_column = block.slice * kColumns;
  const int columns = problem.width - first_column;
  const int first = threadIdx.x / 32 * kWarpTokens;  // row of the warp
#pragma unroll
  for (int i = 0; i < kMatrices<kPass>; ++i)
    load_matrix<kDepth, kColumns>(Shared::matrix(i), block.matrix(problem, i), problem.width,
                                  first_column);
  SumTiles<T, kDepth, kColumns> results;
  results.for_each([](auto& tile, int, int) { clear(tile); });
  const int begin = block.chunk * problem.chunk_tokens;
  const int end = min(problem.tokens, begin + problem.chunk_tokens);
  for (int start = begin; start < end; start += kTileTokens) {
    const int rows = min(end - start, kTileTokens);
    __syncthreads();
    load_rows<kTileTokens, kDepth>(Shared::x(), 0, block.row<T>(problem, problem.x, start),
                                   {rows, problem.width, problem.x.strides.token, problem.vectors},
                                   whole_block(), Rotation<1>(problem, block, start));
    // Y lies where R2 will: every element is replaced by the thread that read it.
    load_rows<kTileTokens, kColumns>(
        Shared::activation(1), 0, block.row<T>(problem, problem.y, start) + first_column,
        {rows, columns, problem.y.strides.token, problem.vectors}, whole_block());
    __syncthreads();
    if (first < rows) {
      GatedTile<T, kColumns> z[kMatrices<kPass>];
      project<Shared>(z, first, kDepth);
      gate<true>(z, Shared::activation(1), first);
      if constexpr (kBackward) {
        store_tile(Shared::activation(0), first, z[2]);
        __syncwarp();
        const Window window{min(rows - first, kWarpTokens), columns, problem.out.strides.token,
                            problem.vectors};
        store_rows<kColumns>(block.row<T>(problem, problem.out, start + first) + first_column,
                             Shared::activation(0), first, window, own_warp());
        __syncwarp();
      }
      store_tile(Shared::result(0), first, z[0]);
      store_tile(Shared::result(1), first, z[1]);
    }
    __syncthreads();
    const int depth = (rows + kWarpTokens - 1) / kWarpTokens * kWarpTokens;
    results.for_each([&](auto& tile, int which, int row) {
      tile.add_product(Shared::x(), row, Shared::result(which), depth);
    });
  }
  __syncthreads();
  results.for_each(
      [](auto& tile, int which, int row) { store_tile(Shared::sums(which), row, tile); });
  __syncthreads();
#pragma unroll
  for (int which = 0; which < 2; ++which) {
    if (problem.chunks > 1) {
      store_partial<kColumns>(problem, sums, block, which, first_column, Shared::sums(which));
    } else {
      finish_columns<kColumns>(problem, sums, block, which, first_column, Shared::sums(which));
    }
  }
}

template <typename T, int kDepth>
using ApplyShared = GatedShared<T, kDepth, 2, 1>;

/// out = Z1 silu(Z2), for a slice of columns. Each warp takes its own tokens.
template <typename T, int kDepth>
__global__ void __launch_bounds__(kGatedThreads, kGatedBlocks<kDepth>)
    gated_apply_kernel(GatedProblem problem) {
  using Shared = ApplyShared<T, kDepth>;
  constexpr int kColumns = Shared::kColumns;
  const GatedBlock block(problem);
  const int first_column = block.slice * kColumns;
  const int columns = problem.width - first_column;
  const int first = threadIdx.x / 32 * kWarpTokens;
#pragma unroll
  for (int i = 0; i < 2; ++i)
    load_matrix<kDepth, kColumns>(Shared::matrix(i), block.matrix(problem, i), problem.width,
                                  first_column);
  __syncthreads();
  const int begin = block.chunk * problem.chunk_tokens;
  const int end = min(problem.tokens, begin + problem.chunk_tokens);
  for (int start = begin + first; start < end; start += kTileTokens) {
    const int rows = min(end - start, kWarpTokens);
    load_rows<kWarpTokens, kDepth>(Shared::x(), first, block.row<T>(problem, problem.x, start),
                                   {rows, problem.width, problem.x.strides.token, problem.vectors},
                                   own_warp(), Rotation<1>(problem, block, start));
    __syncwarp();
    GatedTile<T, kColumns> z[2];
    project<Shared>(z, first, kDepth);
#pragma unroll
    for (int run = 0; run < z[0].kRuns; ++run)
#pragma unroll
      for (int j = 0; j < z[0].kRunLength; ++j)
        z[0].values[run][j] *= Silu(z[1].values[run][j]).value;
    store_tile(Shared::activation(0), first, z[0]);
    __syncwarp();
    store_rows<kColumns>(block.row<T>(problem, problem.out, start) + first_column,
                         Shared::activation(0), first,
                         {rows, columns, problem.out.strides.token, problem.vectors}, own_warp());
  }
}

template <typename T, int kDepth, GatedPass kPass>
using GradientShared = GatedShared<T, kDepth, kMatrices<kPass>, 1>;

/// Gradient with respect to X. A block takes all slices of columns in turn, since their
/// contributions add up; with one slice the matrices are loaded once.
template <typename T, int kDepth, GatedPass kPass>
__global__ void __launch_bounds__(kGatedThreads, kGatedBlocks<kDepth>)
    gated_gradient_kernel(GatedProblem problem) {
  using Shared = GradientShared<T, kDepth, kPass>;
  constexpr int kColumns = Shared::kColumns;
  const GatedBlock block(problem);
  const int first = threadIdx.x / 32 * kWarpTokens;
  const int begin = block.chunk * problem.chunk_tokens;
  const int end = min(problem.tokens, begin + problem.chunk_tokens);
  const bool one_slice = problem.width <= kColumns;
  for (int start = begin; start < end; start += kTileTokens) {
    const int rows = min(end - start - first, kWarpTokens);  // of the warp; none if negative
    Tile<T, kDepth, Layout::plain, Layout::transposed> sum;
    clear(sum);
    for (int first_column = 0; first_column < problem.width; first_column += kColumns) {
      if (!one_slice || start == begin) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kMatrices<kPass>; ++i)
          load_matrix<kDepth, kColumns>(Shared::matrix(i), block.matrix(problem, i), problem.width,
                                        first_column);
        __syncthreads();
      }
      if (rows <= 0) continue;
      if (first_column == 0)
        load_rows<kWarpTokens, kDepth>(
            Shared::x(), first, block.row<T>(problem, problem.x, start + first),
            {rows, problem.width, problem.x.strides.token, problem.vectors}, own_warp(),
            Rotation<1>(problem, block, start + first));
      load_rows<kWarpTokens, kColumns>(
          Shared::activation(0), first,
          block.row<T>(problem, problem.y, start + first) + first_column,
          {rows, problem.width - first_column, problem.y.strides.token, problem.vectors},
          own_warp());
      __syncwarp();
      GatedTile<T, kColumns> z[kMatrices<kPass>];
      project<Shared>(z, first, kDepth);
      gate<false>(z, Shared::activation(0), first);
#pragma unroll
      for (int i = 0; i < kMatrices<kPass>; ++i) {
        __syncwarp();
        store_tile(Shared::result(0), first, z[i]);
        __syncwarp();
        sum.add_product(Shared::result(0), first, Shared::matrix(i), kColumns);
      }
    }
    if (rows <= 0) continue;
    store_tile(Shared::x(), first, sum);  // X was last read before the barriers of the last product
    __syncwarp();
    store_rows<kDepth>(block.row<T>(problem, problem.out, start + first), Shared::x(), first,
                       {rows, problem.width, problem.out.strides.token, problem.vectors},
                       own_warp(), Rotation<-1>(problem, block, start + first));
  }
}

}  // namespace ttt::ops::cuda
