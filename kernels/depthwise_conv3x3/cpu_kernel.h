// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The vectorised inner loops of depthwise 3x3 correlations, channels last, on plain pointers; one
// table per instruction set. Strides are in elements. Also used by ttt_depthwise.

#include <cstdint>

namespace ttt::ops {

/// What follows the sum of one output: an activation, or, with an incoming gradient, the gradient
/// times the activation's slope at that sum.
enum class DepthwiseEpilogue { none, relu, gelu, relu_gradient, gelu_gradient };

/// One row of outputs.
struct DepthwiseRow {
  const void* rows[3];  ///< pixel 0 of the three input rows; null outside the grid
  std::int64_t pixel;   ///< from one input pixel to the next
  std::int64_t width;   ///< input pixels of a row
  std::int64_t out_width, channels;
  const float* taps;   ///< [9][channels]
  const float* bias;   ///< [channels]
  const float* zeros;  ///< `channels` zeros, also read as bfloat16
  void* out;
  std::int64_t out_pixel;
  const void* gradient;  ///< incoming gradient of the row, for the gradient epilogues
  std::int64_t gradient_pixel;
  bool add_input;
  DepthwiseEpilogue epilogue;
};

/// A range of output rows of one sample, for sums over the grid.
struct DepthwiseTapSums {
  const void* in;  ///< pixel (0, 0) of the sample
  std::int64_t row, pixel, height, width;
  const void* factor;  ///< output-sized factor e, pixel (0, 0) of the sample
  std::int64_t factor_row, factor_pixel, out_width;
  std::int64_t begin, end;  ///< output rows
  std::int64_t channels, stride;
  const float* zeros;  ///< `channels` zeros, also read as bfloat16
  float* sums;         ///< [10][channels], overwritten: 9 sums of in * e, then the sum of e
};

/// One row of the input gradient of a stride-2 convolution.
struct DepthwiseSpread {
  const void* gradient;  ///< output gradient of the sample, pixel (0, 0)
  std::int64_t row, pixel, out_height, out_width;
  std::int64_t y, width, channels;  ///< input row to compute, and its size
  const float* taps;                ///< [9][channels]
  void* out;
  std::int64_t out_pixel;
};

struct DepthwiseKernels {
  void (*row_float)(const DepthwiseRow& row, std::int64_t stride);
  void (*row_bf16)(const DepthwiseRow& row, std::int64_t stride);
  void (*tap_sums_float)(const DepthwiseTapSums& sums);
  void (*tap_sums_bf16)(const DepthwiseTapSums& sums);
  void (*spread_float)(const DepthwiseSpread& spread);
  void (*spread_bf16)(const DepthwiseSpread& spread);
};

namespace baseline {
extern const DepthwiseKernels depthwise_kernels;
}
namespace avx2 {
extern const DepthwiseKernels depthwise_kernels;
}
namespace avx512 {
extern const DepthwiseKernels depthwise_kernels;
}

}  // namespace ttt::ops
