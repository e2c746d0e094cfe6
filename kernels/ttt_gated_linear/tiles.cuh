// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the kernels of the op share: the work of a block, its shared memory, and the moves between
// global and shared memory.

#include "kernels/support/cuda_tile.cuh"
#include "kernels/ttt_gated_linear/cuda.h"

namespace ttt::ops::cuda {

constexpr int kGatedThreads = 128;
/// Blocks that a multiprocessor shall hold at least, which limits the registers of a thread.
template <int kDepth>
constexpr int kGatedBlocks = kDepth <= 80 ? 3 : 2;
constexpr int kGatedWarps = kGatedThreads / 32;
constexpr int kWarpTokens = 16;                         // rows of a tile
constexpr int kTileTokens = kGatedWarps * kWarpTokens;  // tokens that a block holds at a time

/// Two matrices (w1, w2) in a product with activations and the gate, or four with those of the
/// step's backward pass.
enum class GatedPass { forward, step_backward };

/// A block works on one sample and head, one slice of the matrices' columns and one chunk of the
/// tokens. All kernels number their blocks (sample and head, chunk, slice).
struct GatedProblem {
  int tokens, heads, width;
  int chunk_tokens, chunks, slices;
  bool vectors;  // rows of activations may be read and written as 16-byte vectors
  TokenInput x;  // k or q
  TokenInput y;  // v or dout
  TokenOutput out;
  RopeAngles rope;         // of x, and of its gradient
  MatrixPair matrices[2];  // w1, w2; and in the step's backward pass the gradients' factors
};

struct GatedBlock {
  std::int64_t sample;
  int head, chunk, slice;
  __device__ __forceinline__ explicit GatedBlock(const GatedProblem& problem) {
    unsigned int index = blockIdx.x;
    slice = static_cast<int>(index % problem.slices);
    index /= problem.slices;
    chunk = static_cast<int>(index % problem.chunks);
    index /= problem.chunks;
    head = static_cast<int>(index % problem.heads);
    sample = index / problem.heads;
  }
  /// First element of this sample's and head's matrix.
  __device__ __forceinline__ const float* matrix(const GatedProblem& problem, int which) const {
    const MatrixPair& pair = problem.matrices[which / 2];
    const float* base = which % 2 == 0 ? pair.first : pair.second;
    return base + sample * pair.batch_stride +
           static_cast<std::int64_t>(head) * problem.width * problem.width;
  }
  /// The head's channels of a token.
  template <typename T>
  __device__ __forceinline__ const T* row(const GatedProblem& problem, const TokenInput& input,
                                          int token) const {
    return static_cast<const T*>(input.data) + sample * input.strides.batch +
           token * input.strides.token + head * problem.width;
  }
  template <typename T>
  __device__ __forceinline__ T* row(const GatedProblem& problem, const TokenOutput& output,
                                    int token) const {
    return static_cast<T*>(output.data) + sample * output.strides.batch +
           token * output.strides.token + head * problem.width;
  }
};

/// Where things lie in a block's dynamic shared memory. kDepth is the head width rounded up;
/// kMatrices slices of [kDepth, kColumns] and kResults tiles [tokens, kColumns] of state precision.
template <typename T, int kDepth, int kMatrices, int kResults>
struct GatedShared {
  // Narrower slices keep the whole under 99 KB, the most that every GPU since Ampere has.
  static constexpr int kColumns = kMatrices == 4 && kDepth > 64 ? 16 : 32;
  static constexpr int kParts = kStateParts<T>;
  static constexpr int kTokenStride = kDepth + kRowPadding<T>;
  static constexpr int kColumnStride = kColumns + kRowPadding<T>;
  static constexpr int kMatrixElements = kDepth * kColumnStride;
  static constexpr int kResultElements = kTileTokens * kColumnStride;
  static constexpr int kX = 0;
  static constexpr int kMatrix = kX + kTileTokens * kTokenStride * sizeof(T);
  static constexpr int kMatrixBytes = kParts * kMatrixElements * sizeof(T);
  static constexpr int kResult = kMatrix + kMatrices * kMatrixBytes;
  static constexpr int kResultBytes = kParts * kResultElements * sizeof(T);
  static constexpr int kBytes = kResult + kResults * kResultBytes;
  static_assert(kBytes <= 99 * 1024);

  __device__ __forceinline__ static SharedMatrix<T, 1> x() {
    return {dynamic_shared<T>(kX), kTokenStride, 0};
  }
  __device__ __forceinline__ static SharedMatrix<T, kParts> matrix(int which) {
    return {dynamic_shared<T>(kMatrix + which * kMatrixBytes), kColumnStride, kMatrixElements};
  }
  __device__ __forceinline__ static SharedMatrix<T, kParts> result(int which) {
    return {dynamic_shared<T>(kResult + which * kResultBytes), kColumnStride, kResultElements};
  }
  /// The same memory for activations: the high parts.
  __device__ __forceinline__ static SharedMatrix<T, 1> activation(int which) {
    return {dynamic_shared<T>(kResult + which * kResultBytes), kColumnStride, 0};
  }
  /// A float [kDepth, kColumns] in the place of matrix `which`.
  __device__ __forceinline__ static SharedMatrix<float, 1> sums(int which) {
    static_assert(kDepth * (kColumns + kRowPadding<float>)*4 <= kMatrixBytes);
    return {dynamic_shared<float>(kMatrix + which * kMatrixBytes), kColumns + kRowPadding<float>,
            0};
  }
};

/// Threads that move a tile together: a whole block, or one warp.
struct Movers {
  int index, count;
};
__device__ __forceinline__ Movers whole_block() {
  return {static_cast<int>(threadIdx.x), kGatedThreads};
}
__device__ __forceinline__ Movers own_warp() {
  return {static_cast<int>(threadIdx.x % 32), 32};
}

/// A part of an activation: `rows` rows of `columns` elements.
struct Window {
  int rows, columns;
  std::int64_t stride;
  bool vectors;
};

/// What happens to values between global and shared memory: nothing.
struct AsTheyAre {
  template <typename T, int N>
  __device__ __forceinline__ void operator()(Vector<T, N>&, int, int) const {}
};

/// Rotates the pairs of channels of a head's tokens; kSign -1 turns gradients back.
template <int kSign>
struct Rotation {
  RopeAngles angles;
  int first_pair;  // of the head, among those of a token
  int width;       // channels of the head, an even number
  int token;       // of row 0

  __device__ __forceinline__ Rotation(const GatedProblem& problem, const GatedBlock& block,
                                      int first_token)
      : angles(problem.rope),
        first_pair(block.head * problem.width / 2),
        width(problem.width),
        token(first_token) {}

  template <typename T, int N>
  __device__ __forceinline__ void operator()(Vector<T, N>& values, int row, int column) const {
    if (angles.row_cos == nullptr) return;
    const int y = (token + row) / angles.width, x = (token + row) % angles.width;
#pragma unroll
    for (int j = 0; j < N; j += 2) {
      if (column + j >= width) return;
      const int pair = first_pair + (column + j) / 2;
      const bool on_rows = pair < angles.pairs;
      const int entry = on_rows ? y * angles.pairs + pair : (x - 1) * angles.pairs + pair;
      const float cosine = (on_rows ? angles.row_cos : angles.column_cos)[entry];
      const float sine = kSign * (on_rows ? angles.row_sin : angles.column_sin)[entry];
      const float u = to_float(values.data[j]), v = to_float(values.data[j + 1]);
      values.data[j] = from_float<T>(u * cosine - v * sine);
      values.data[j + 1] = from_float<T>(u * sine + v * cosine);
    }
  }
};

/// Fills [kRows, kColumns] of `to` from row `first` on; zeros outside the window, as far as the
/// rows that a product reads. `change` sees the values inside it, and their row and column.
template <int kRows, int kColumns, typename T, typename Change = AsTheyAre>
__device__ __forceinline__ void load_rows(const SharedMatrix<T, 1>& to, int first, const T* from,
                                          const Window& window, Movers movers,
                                          const Change& change = {}) {
  constexpr int kWidth = kVectorElements<T>;
  constexpr int kPerRow = kColumns / kWidth;
  const int rows = (window.rows + kWarpTokens - 1) / kWarpTokens * kWarpTokens;
  const int count = min(kRows, rows) * kPerRow;
  for (int i = movers.index; i < count; i += movers.count) {
    const int row = i / kPerRow, column = i % kPerRow * kWidth;
    const T* source = from + row * window.stride + column;
    Vector<T, kWidth> values;
    if (window.vectors && row < window.rows && column < window.columns) {
      values = load_vector<T, kWidth>(source);
    } else {
#pragma unroll
      for (int j = 0; j < kWidth; ++j)
        values.data[j] =
            row < window.rows && column + j < window.columns ? source[j] : from_float<T>(0);
    }
    if (row < window.rows) change(values, row, column);
    store_vector<T, kWidth>(to.at(0, first + row, column), values);
  }
}

/// Writes the window from row `first` of `from`, changed likewise.
template <int kColumns, typename T, typename Change = AsTheyAre>
__device__ __forceinline__ void store_rows(T* to, const SharedMatrix<T, 1>& from, int first,
                                           const Window& window, Movers movers,
                                           const Change& change = {}) {
  constexpr int kWidth = kVectorElements<T>;
  constexpr int kPerRow = kColumns / kWidth;
  for (int i = movers.index; i < window.rows * kPerRow; i += movers.count) {
    const int row = i / kPerRow, column = i % kPerRow * kWidth;
    if (column >= window.columns) continue;
    T* target = to + row * window.stride + column;
    Vector<T, kWidth> values = load_vector<T, kWidth>(from.at(0, first + row, column));
    change(values, row, column);
    if (window.vectors) {
      store_vector<T, kWidth>(target, values);
    } else {
#pragma unroll
      for (int j = 0; j < kWidth; ++j)
        if (column + j < window.columns) target[j] = values.data[j];
    }
  }
}

/// Loads the columns from `first_column` on of a [width, width] matrix, zeros outside.
template <int kDepth, int kColumns, typename T, int kParts>
__device__ __forceinline__ void load_matrix(const SharedMatrix<T, kParts>& to, const float* from,
                                            int width, int first_column) {
  constexpr int kWidth = 4, kPerRow = kColumns / kWidth;
  for (int i = threadIdx.x; i < kDepth * kPerRow; i += kGatedThreads) {
    const int row = i / kPerRow, column = i % kPerRow * kWidth;
    float values[kWidth];
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      const int source = first_column + column + j;
      values[j] = row < width && source < width ? from[row * width + source] : 0;
    }
    to.set(row, column, values);
  }
}

/// Copies a tile into rows from `first` on.
template <typename T, int kColumns, Layout kA, Layout kB, typename U, int kParts>
__device__ __forceinline__ void store_tile(const SharedMatrix<U, kParts>& to, int first,
                                           const Tile<T, kColumns, kA, kB>& tile) {
#pragma unroll
  for (int run = 0; run < tile.kRuns; ++run)
    to.set(first + tile.row(run), tile.column(run), tile.values[run]);
}

}  // namespace ttt::ops::cuda
