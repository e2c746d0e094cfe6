// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Depthwise 3x3 convolutions with zero padding 1 over channels-last grids, and the sums that their
// gradients consist of; depthwise_conv3x3 and ttt_depthwise are made of these.

#include "kernels/support/cuda_types.h"

namespace ttt::ops::cuda {

enum class ConvolutionActivation { none, relu, gelu };

/// Of the convolution's input; its output has ceil(height / stride) x ceil(width / stride).
struct ConvolutionSizes {
  std::int64_t batch = 0, height = 0, width = 0, channels = 0;
  int stride = 1;  ///< 1 or 2
  constexpr std::int64_t out_height() const { return (height + stride - 1) / stride; }
  constexpr std::int64_t out_width() const { return (width + stride - 1) / stride; }
};

struct GridInput {
  const void* data = nullptr;
  GridStrides strides;
};
struct GridOutput {
  void* data = nullptr;
  GridStrides strides;
};

/// The parameters of activation([x +] conv(x, taps) + bias).
struct ConvolutionParameters {
  const float* taps = nullptr;         ///< [3, 3, channels], samples `taps_batch_stride` apart
  std::int64_t taps_batch_stride = 0;  ///< 0: shared by all samples
  const float* bias = nullptr;         ///< [channels] or null
  bool add_input = false;
  ConvolutionActivation activation = ConvolutionActivation::none;
};

/// out = activation([x +] conv(x, taps) + bias). With `flip` every kernel is turned by 180 degrees,
/// which for stride 1 gives the gradient with respect to the input.
struct ConvolutionLaunch {
  DataType input_type = DataType::float32, output_type = DataType::float32;
  ConvolutionSizes sizes;
  GridInput x;
  GridOutput out;
  ConvolutionParameters parameters;
  bool flip = false;
};
void launch_convolution(const ConvolutionLaunch& launch, const Stream& stream);

/// The gradient with respect to the input of a convolution of stride 2: `x` is the gradient of its
/// output, `out` has `sizes`. Of the parameters only the taps are read.
void launch_transposed_convolution(const ConvolutionLaunch& launch, const Stream& stream);

/// Per sample, sums over the grid of shifted x times the output's gradient e (the taps' gradient)
/// and of e alone (the bias' gradient). With an activation e = dout * activation'(z), z computed
/// again from x and the parameters, and e is also written to `dz`.
struct TapSumsLaunch {
  DataType type = DataType::float32;
  ConvolutionSizes sizes;
  GridInput x, dout;
  ConvolutionParameters parameters;
  float* dz = nullptr;    ///< [batch, out_height, out_width, channels]; null without activation
  float* sums = nullptr;  ///< [batch, tap_sum_chunks(sizes), 10, channels]; the tenth is e alone
};
void launch_tap_sums(const TapSumsLaunch& launch, const Stream& stream);

/// In how many chunks the sums of a sample come; a function of the grid and the channels alone.
std::int64_t tap_sum_chunks(const ConvolutionSizes& sizes);

/// Adds `count` consecutive chunks for each of `groups` results [values].
struct ChunkTotalLaunch {
  const float* chunks = nullptr;  ///< [groups, count, chunk_values], the first `values` of each
  float* totals = nullptr;        ///< [groups, values]
  std::int64_t groups = 0, count = 0, chunk_values = 0, values = 0;
};
void launch_chunk_total(const ChunkTotalLaunch& launch, const Stream& stream);

}  // namespace ttt::ops::cuda
