// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every thread has kWidth adjacent channels and walks along a strip of a row of outputs with the
// 3x3 window of inputs in registers; neighbouring threads have neighbouring channels.

#include "kernels/depthwise_conv3x3/cuda.h"
#include "kernels/support/cuda_device.cuh"

namespace ttt::ops::cuda {

constexpr int kConvolutionThreads = 128;
constexpr int kStrip = 8;  // outputs of a strip

__device__ __forceinline__ float activate(float z, ConvolutionActivation activation) {
  constexpr float kSqrtHalf = 0.70710678118654752F;
  if (activation == ConvolutionActivation::relu) return z < 0 ? 0 : z;  // keeps NaN
  if (activation == ConvolutionActivation::gelu) return 0.5F * z * (1 + erff(z * kSqrtHalf));
  return z;
}

__device__ __forceinline__ float activation_slope(float z, ConvolutionActivation activation) {
  constexpr float kSqrtHalf = 0.70710678118654752F, kInverseSqrtTwoPi = 0.39894228040143268F;
  if (activation == ConvolutionActivation::relu) return z <= 0 ? 0 : 1;
  if (activation == ConvolutionActivation::gelu)
    return 0.5F * (1 + erff(z * kSqrtHalf)) + z * kInverseSqrtTwoPi * expf(-0.5F * z * z);
  return 1;
}

/// Reads adjacent channels.
template <int kWidth, typename T>
__device__ __forceinline__ void read_channels(const T* from, float (&values)[kWidth]) {
  const Vector<T, kWidth> read = load_vector<T, kWidth>(from);
#pragma unroll
  for (int c = 0; c < kWidth; ++c) values[c] = to_float(read.data[c]);
}

template <int kWidth, typename T>
__device__ __forceinline__ void write_channels(T* to, const float (&values)[kWidth]) {
  Vector<T, kWidth> rounded;
#pragma unroll
  for (int c = 0; c < kWidth; ++c) rounded.data[c] = from_float<T>(values[c]);
  store_vector<T, kWidth>(to, rounded);
}

/// Taps [3][3] of a thread's channels.
template <int kWidth>
struct Taps {
  float values[3][3][kWidth];
  /// `from` is the first tap of the thread's first channel.
  __device__ __forceinline__ void load(const float* from, int channels, bool flip) {
#pragma unroll
    for (int i = 0; i < 3; ++i)
#pragma unroll
      for (int j = 0; j < 3; ++j) {
        const int tap = flip ? 8 - (3 * i + j) : 3 * i + j;
        read_channels(from + tap * channels, values[i][j]);
      }
  }
};

/// The inputs around one output, moved along a row of outputs.
template <typename T, int kWidth, int kStride>
class Window {
 public:
  float values[3][3][kWidth];

  /// `sample` is the first channel of the thread in its sample; starts at output (y, x).
  __device__ __forceinline__ Window(const T* sample, const GridStrides& strides,
                                    const ConvolutionSizes& sizes, int y, int x)
      : sample_(sample),
        strides_(strides),
        height_(static_cast<int>(sizes.height)),
        width_(static_cast<int>(sizes.width)),
        row_(y * kStride - 1),
        column_(x * kStride - 1) {
#pragma unroll
    for (int j = 0; j < 3; ++j) load_column(j);
  }
  /// Goes on to the next output of the row.
  __device__ __forceinline__ void advance() {
    column_ += kStride;
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      if (j + kStride < 3) {
#pragma unroll
        for (int i = 0; i < 3; ++i)
#pragma unroll
          for (int c = 0; c < kWidth; ++c) values[i][j][c] = values[i][j + kStride][c];
      } else {
        load_column(j);
      }
    }
  }

 private:
  __device__ __forceinline__ void load_column(int j) {
    const int column = column_ + j;
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      const int row = row_ + i;
      if (row >= 0 && row < height_ && column >= 0 && column < width_) {
        read_channels(sample_ + row * strides_.row + column * strides_.column, values[i][j]);
      } else {
#pragma unroll
        for (int c = 0; c < kWidth; ++c) values[i][j][c] = 0;
      }
    }
  }

  const T* sample_;
  GridStrides strides_;
  int height_, width_, row_, column_;
};

/// bias + taps * window [+ input]
template <typename T, int kWidth, int kStride>
__device__ __forceinline__ void convolve(const Window<T, kWidth, kStride>& window,
                                         const Taps<kWidth>& taps, const float (&bias)[kWidth],
                                         bool add_input, float (&sum)[kWidth]) {
#pragma unroll
  for (int c = 0; c < kWidth; ++c) {
    sum[c] = bias[c];
#pragma unroll
    for (int i = 0; i < 3; ++i)
#pragma unroll
      for (int j = 0; j < 3; ++j)
        sum[c] = fmaf(window.values[i][j][c], taps.values[i][j][c], sum[c]);
    if (add_input) sum[c] += window.values[1][1][c];
  }
}

/// Bias of a thread's channels, zero without one.
template <int kWidth>
__device__ __forceinline__ void load_bias(const ConvolutionParameters& parameters, int channel,
                                          float (&bias)[kWidth]) {
#pragma unroll
  for (int c = 0; c < kWidth; ++c) bias[c] = 0;
  if (parameters.bias != nullptr) read_channels(parameters.bias + channel, bias);
}

/// One thread for each (sample, row, strip, group of channels), `threads` of them.
template <typename In, typename Out, int kWidth, int kStride>
__global__ void __launch_bounds__(kConvolutionThreads)
    convolution_kernel(ConvolutionLaunch arguments, unsigned int threads) {
  unsigned int index = blockIdx.x * kConvolutionThreads + threadIdx.x;
  if (index >= threads) return;
  const ConvolutionSizes& sizes = arguments.sizes;
  const auto channels = static_cast<int>(sizes.channels);
  const auto out_width = static_cast<int>(sizes.out_width());
  const auto out_height = static_cast<unsigned int>(sizes.out_height());
  const auto groups = static_cast<unsigned int>(channels / kWidth);
  const auto strips = static_cast<unsigned int>((out_width + kStrip - 1) / kStrip);
  const int channel = static_cast<int>(index % groups) * kWidth;
  index /= groups;
  const int first = static_cast<int>(index % strips) * kStrip;
  index /= strips;
  const int row = static_cast<int>(index % out_height);
  const std::int64_t sample = index / out_height;
  const ConvolutionParameters& parameters = arguments.parameters;
  Taps<kWidth> taps;
  taps.load(parameters.taps + sample * parameters.taps_batch_stride + channel, channels,
            arguments.flip);
  float bias[kWidth];
  load_bias(parameters, channel, bias);
  Window<In, kWidth, kStride> window(
      static_cast<const In*>(arguments.x.data) + sample * arguments.x.strides.batch + channel,
      arguments.x.strides, sizes, row, first);
  const GridStrides& strides = arguments.out.strides;
  Out* out =
      static_cast<Out*>(arguments.out.data) + sample * strides.batch + row * strides.row + channel;
  const int end = min(first + kStrip, out_width);
  for (int x = first; x < end; ++x) {
    if (x > first) window.advance();
    float sum[kWidth];
    convolve(window, taps, bias, parameters.add_input, sum);
#pragma unroll
    for (int c = 0; c < kWidth; ++c) sum[c] = activate(sum[c], parameters.activation);
    write_channels(out + x * strides.column, sum);
  }
}

/// One thread for each (sample, row, column, group of channels) of the input of stride 2.
template <typename In, typename Out, int kWidth>
__global__ void __launch_bounds__(kConvolutionThreads)
    transposed_convolution_kernel(ConvolutionLaunch arguments, unsigned int threads) {
  unsigned int index = blockIdx.x * kConvolutionThreads + threadIdx.x;
  if (index >= threads) return;
  const ConvolutionSizes& sizes = arguments.sizes;
  const auto channels = static_cast<int>(sizes.channels);
  const int channel = static_cast<int>(index % (channels / kWidth)) * kWidth;
  index /= channels / kWidth;
  const int x = static_cast<int>(index % static_cast<unsigned int>(sizes.width));
  index /= static_cast<unsigned int>(sizes.width);
  const int y = static_cast<int>(index % static_cast<unsigned int>(sizes.height));
  const std::int64_t sample = index / static_cast<unsigned int>(sizes.height);
  const In* gradient =
      static_cast<const In*>(arguments.x.data) + sample * arguments.x.strides.batch + channel;
  float sum[kWidth] = {};
#pragma unroll
  for (int i = 0; i < 3; ++i)
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      const int twice_row = y + 1 - i, twice_column = x + 1 - j;
      if (twice_row % 2 != 0 || twice_column % 2 != 0) continue;
      const int row = twice_row / 2, column = twice_column / 2;
      if (row < 0 || row >= sizes.out_height() || column < 0 || column >= sizes.out_width())
        continue;
      float value[kWidth], tap[kWidth];
      read_channels(gradient + row * arguments.x.strides.row + column * arguments.x.strides.column,
                    value);
      read_channels(arguments.parameters.taps + (3 * i + j) * channels + channel, tap);
#pragma unroll
      for (int c = 0; c < kWidth; ++c) sum[c] = fmaf(value[c], tap[c], sum[c]);
    }
  const GridStrides& strides = arguments.out.strides;
  write_channels(static_cast<Out*>(arguments.out.data) + sample * strides.batch + y * strides.row +
                     x * strides.column + channel,
                 sum);
}

constexpr int kTapThreads = 128;
constexpr int kTapSums = 10;

/// How a block of tap_sums_kernel divides its threads and its work.
struct TapPartition {
  int lanes;           // groups of channels side by side, a power of two
  int channel_blocks;  // blocks for all channels
  int chunks, chunk_rows;
};

/// Blocks are numbered (sample, chunk of rows, block of channels). The workers of a group of
/// channels take the chunk's strips in turn and are added in order. With kActivation there is a dz.
template <typename T, int kWidth, int kStride, bool kActivation>
__global__ void __launch_bounds__(kTapThreads, kActivation ? 2 : 3)
    tap_sums_kernel(TapSumsLaunch arguments, TapPartition partition) {
  __shared__ SharedArray<float, kTapThreads * kWidth> scratch;
  const ConvolutionSizes& sizes = arguments.sizes;
  const ConvolutionParameters& parameters = arguments.parameters;
  const auto channels = static_cast<int>(sizes.channels);
  const auto out_width = static_cast<int>(sizes.out_width());
  const auto out_height = static_cast<int>(sizes.out_height());
  const unsigned int block = blockIdx.x / partition.channel_blocks;
  const auto lane = static_cast<int>(threadIdx.x) % partition.lanes;
  const auto worker = static_cast<int>(threadIdx.x) / partition.lanes;
  const int workers = kTapThreads / partition.lanes;
  const auto channel_block = static_cast<int>(blockIdx.x % partition.channel_blocks);
  const int channel = (channel_block * partition.lanes + lane) * kWidth;
  const auto chunk = static_cast<int>(block % partition.chunks);
  const std::int64_t sample = block / partition.chunks;
  const int first_row = chunk * partition.chunk_rows;
  const int strips = (out_width + kStrip - 1) / kStrip;
  const int units = (min(out_height, first_row + partition.chunk_rows) - first_row) * strips;
  const bool active = channel < channels;
  float sums[kTapSums][kWidth] = {};
  Taps<kWidth> taps{};
  float bias[kWidth] = {};
  if (kActivation && active) {
    taps.load(parameters.taps + channel, channels, false);
    load_bias(parameters, channel, bias);
  }
  const T* x =
      static_cast<const T*>(arguments.x.data) + sample * arguments.x.strides.batch + channel;
  const GridStrides& strides = arguments.dout.strides;
  const T* dout = static_cast<const T*>(arguments.dout.data) + sample * strides.batch + channel;
  for (int unit = worker; active && unit < units; unit += workers) {
    const int row = first_row + unit / strips, first = unit % strips * kStrip;
    const int end = min(first + kStrip, out_width);
    Window<T, kWidth, kStride> window(x, arguments.x.strides, sizes, row, first);
    for (int column = first; column < end; ++column) {
      if (column > first) window.advance();
      float e[kWidth];
      read_channels(dout + row * strides.row + column * strides.column, e);
      if constexpr (kActivation) {
        float z[kWidth];
        convolve(window, taps, bias, parameters.add_input, z);
#pragma unroll
        for (int c = 0; c < kWidth; ++c) e[c] *= activation_slope(z[c], parameters.activation);
        write_channels(
            arguments.dz + ((sample * out_height + row) * out_width + column) * channels + channel,
            e);
      }
#pragma unroll
      for (int c = 0; c < kWidth; ++c) {
#pragma unroll
        for (int tap = 0; tap < 9; ++tap)
          sums[tap][c] = fmaf(window.values[tap / 3][tap % 3][c], e[c], sums[tap][c]);
        sums[9][c] += e[c];
      }
    }
  }
#pragma unroll
  for (int tap = 0; tap < kTapSums; ++tap) {
    __syncthreads();
#pragma unroll
    for (int c = 0; c < kWidth; ++c)
      scratch[static_cast<int>(threadIdx.x) * kWidth + c] = sums[tap][c];
    __syncthreads();
    if (worker != 0 || !active) continue;
    float total[kWidth] = {};
    for (int other = 0; other < workers; ++other)
#pragma unroll
      for (int c = 0; c < kWidth; ++c)
        total[c] += scratch[(other * partition.lanes + lane) * kWidth + c];
    write_channels(arguments.sums +
                       ((sample * partition.chunks + chunk) * kTapSums + tap) * channels + channel,
                   total);
  }
}

/// One thread for each total.
__global__ void __launch_bounds__(kConvolutionThreads)
    chunk_total_kernel(ChunkTotalLaunch arguments) {
  const std::int64_t index =
      static_cast<std::int64_t>(blockIdx.x) * kConvolutionThreads + threadIdx.x;
  if (index >= arguments.groups * arguments.values) return;
  const float* from = arguments.chunks +
                      index / arguments.values * arguments.count * arguments.chunk_values +
                      index % arguments.values;
  float sum = 0;
#pragma unroll 8
  for (std::int64_t i = 0; i < arguments.count; ++i) sum += from[i * arguments.chunk_values];
  arguments.totals[index] = sum;
}

}  // namespace ttt::ops::cuda
