// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of small matrices in shared memory, one 16-row tile of the result per warp and in its
// registers: fused multiply-adds for float, tensor cores for bfloat16.
//
// A float state (weights, gradients) as a factor beside bfloat16 activations is kept as the sum of
// two bfloat16 ("high" and "low" part, 16 bits of precision together), so that the products are as
// good as the activations deserve and the tensor cores still do them.

#include "kernels/support/cuda_mma.cuh"

namespace ttt::ops::cuda {

/// How many matrices of element type T hold a float state.
template <typename T>
constexpr int kStateParts = 1;
template <>
constexpr int kStateParts<Bfloat16> = 2;

/// Padding of rows in shared memory: rows then start in different banks.
template <typename T>
constexpr int kRowPadding = kVectorElements<T>;

/// A matrix in shared memory, rows `stride` elements apart, in kParts parts that are added.
template <typename T, int kParts>
struct SharedMatrix {
  SharedPointer<T> data;
  int stride;
  int part_stride;

  __device__ __forceinline__ SharedPointer<T> at(int part, int row, int column) const {
    return data + (part * part_stride + row * stride + column);
  }
  /// Writes adjacent elements of a row, each as the sum of the parts.
  template <int N>
  __device__ __forceinline__ void set(int row, int column, const float (&values)[N]) const {
    float rest[N];
#pragma unroll
    for (int i = 0; i < N; ++i) rest[i] = values[i];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      Vector<T, N> rounded;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        rounded.data[i] = from_float<T>(rest[i]);
        rest[i] -= to_float(rounded.data[i]);
      }
      store_vector<T, N>(at(part, row, column), rounded);
    }
  }
  /// Reads adjacent elements of a row of the first part.
  template <int N>
  __device__ __forceinline__ void get(int row, int column, float (&values)[N]) const {
    const Vector<T, N> read = load_vector<T, N>(at(0, row, column));
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = to_float(read.data[i]);
  }
};

/// How a factor lies in shared memory. The product sums over k; A is [m, k], B is [k, n].
enum class Layout { plain, transposed };

/// Elements of a tile that a lane holds in adjacent columns of a row, and how they lie:
/// values[i][j] is at (row(i), column(i) + j) of the tile. kRuns * kRunLength elements per lane.
template <typename T, int kColumns, Layout kA, Layout kB>
class Tile;

/// float: lanes are 4 down and 8 across, each with 4 rows.
template <int kColumns, Layout kA, Layout kB>
class Tile<float, kColumns, kA, kB> {
 public:
  static constexpr int kLaneColumns = kColumns / 8;
  static constexpr int kRunLength = kB == Layout::plain ? kLaneColumns : 1;
  static constexpr int kRunsPerRow = kLaneColumns / kRunLength;
  static constexpr int kRuns = 4 * kRunsPerRow;
  static_assert(kB == Layout::transposed || kLaneColumns == 2 || kLaneColumns == 4);
  float values[kRuns][kRunLength];

  __device__ __forceinline__ static int row(int run) {
    const int lane_row = threadIdx.x % 32 / 8, i = run / kRunsPerRow;
    return kA == Layout::plain ? lane_row + 4 * i : 4 * lane_row + i;
  }
  __device__ __forceinline__ static int column(int run) {
    const int lane_column = threadIdx.x % 8;
    return kB == Layout::plain ? lane_column * kLaneColumns : lane_column + 8 * (run % kRunsPerRow);
  }

  /// Adds A B. A starts at (row, 0) if plain, (0, row) if transposed, B at its first element;
  /// `depth` is a multiple of 4.
  __device__ __forceinline__ void add_product(const SharedMatrix<float, 1>& a, int first_row,
                                              const SharedMatrix<float, 1>& b, int depth) {
    const int lane_column = threadIdx.x % 8;
#pragma unroll 1
    for (int k = 0; k < depth; k += 4) {
      float left[4][4], right[4][kLaneColumns];  // [row][k], [k][column]
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (kA == Layout::plain) {
          a.get(first_row + row(i * kRunsPerRow), k, left[i]);
        } else {
          float across[4];
          a.get(k + i, first_row + row(0), across);
#pragma unroll
          for (int r = 0; r < 4; ++r) left[r][i] = across[r];
        }
      }
      if constexpr (kB == Layout::plain) {
#pragma unroll
        for (int i = 0; i < 4; ++i) b.get(k + i, lane_column * kLaneColumns, right[i]);
      } else {
#pragma unroll
        for (int c = 0; c < kLaneColumns; ++c) {
          float along[4];
          b.get(lane_column + 8 * c, k, along);
#pragma unroll
          for (int i = 0; i < 4; ++i) right[i][c] = along[i];
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int r = 0; r < 4; ++r)
#pragma unroll
          for (int c = 0; c < kLaneColumns; ++c) {
            float& sum = values[r * kRunsPerRow + c / kRunLength][c % kRunLength];
            sum = fmaf(left[r][i], right[i][c], sum);
          }
    }
  }
};

/// bfloat16: the registers of mma.m16n8k16, one instruction per 8 columns.
template <int kColumns, Layout kA, Layout kB>
class Tile<Bfloat16, kColumns, kA, kB> {
 public:
  static constexpr int kRunLength = 2;
  static constexpr int kRuns = kColumns / 4;
  static_assert(kColumns % 16 == 0);
  float values[kRuns][kRunLength];

  __device__ __forceinline__ static int row(int run) {
    return threadIdx.x % 32 / 4 + 8 * (run % 2);
  }
  __device__ __forceinline__ static int column(int run) {
    return 2 * (threadIdx.x % 4) + 8 * (run / 2);
  }

  /// As for float; `depth` is a multiple of 16. Products of two low parts are left out.
  template <int kPartsA, int kPartsB>
  __device__ __forceinline__ void add_product(const SharedMatrix<Bfloat16, kPartsA>& a,
                                              int first_row,
                                              const SharedMatrix<Bfloat16, kPartsB>& b, int depth) {
    const int lane = threadIdx.x % 32;
    const int in_matrix = lane % 8, second = lane / 8 % 2, third = lane / 16;
#pragma unroll 1
    for (int k = 0; k < depth; k += 16) {
      unsigned int left[kPartsA][4];
#pragma unroll
      for (int part = 0; part < kPartsA; ++part) {
        const int down = in_matrix + 8 * (kA == Layout::plain ? second : third);
        const int across = 8 * (kA == Layout::plain ? third : second);
        load_matrices(left[part],
                      bits(kA == Layout::plain ? a.at(part, first_row + down, k + across)
                                               : a.at(part, k + down, first_row + across)),
                      kA == Layout::transposed);
      }
#pragma unroll
      for (int column = 0; column < kColumns; column += 16) {
        // Registers 0, 1 are the factor of the first 8 columns, 2, 3 that of the next.
        unsigned int right[kPartsB][4];
#pragma unroll
        for (int part = 0; part < kPartsB; ++part) {
          const int down = in_matrix + 8 * (kB == Layout::plain ? second : third);
          const int across = 8 * (kB == Layout::plain ? third : second);
          load_matrices(right[part],
                        bits(kB == Layout::plain ? b.at(part, k + down, column + across)
                                                 : b.at(part, column + down, k + across)),
                        kB == Layout::plain);
        }
        multiply(left, right, column / 8);
      }
    }
  }

 private:
  __device__ __forceinline__ static SharedPointer<unsigned short> bits(SharedPointer<Bfloat16> at) {
#ifdef __CUDACC__
    return reinterpret_cast<unsigned short*>(at);
#else
    return at.template cast<unsigned short>();
#endif
  }

  template <int kPartsA, int kPartsB>
  __device__ __forceinline__ void multiply(const unsigned int (&left)[kPartsA][4],
                                           const unsigned int (&right)[kPartsB][4], int eighth) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int run = 2 * (eighth + half);
      float c[4] = {values[run][0], values[run][1], values[run + 1][0], values[run + 1][1]};
#pragma unroll
      for (int i = kPartsA - 1; i >= 0; --i)  // small terms first
#pragma unroll
        for (int j = kPartsB - 1; j >= 0; --j) {
          if (i + j > 1) continue;
          const unsigned int b[2] = {right[j][2 * half], right[j][2 * half + 1]};
          multiply_accumulate(c, left[i], b);
        }
      values[run][0] = c[0];
      values[run][1] = c[1];
      values[run + 1][0] = c[2];
      values[run + 1][1] = c[3];
    }
  }
};

template <typename T, int kColumns, Layout kA, Layout kB>
__device__ __forceinline__ void clear(Tile<T, kColumns, kA, kB>& tile) {
#pragma unroll
  for (auto& run : tile.values)
#pragma unroll
    for (float& value : run) value = 0;
}

}  // namespace ttt::ops::cuda
