// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise_conv3x3/cuda.h"
#include "kernels/depthwise_conv3x3/kernel.cuh"
#include "kernels/support/cuda_launch.cuh"

#include <algorithm>
#include <type_traits>

namespace ttt::ops::cuda {
namespace {

constexpr int kVectorChannels = 4;
constexpr std::int64_t kMaxTapChunks = 64;

unsigned int checked_count(std::int64_t threads) {
  if (threads > 0x7fffffff) throw Failure("depthwise convolution: too many elements", false);
  return static_cast<unsigned int>(threads);
}

template <typename Body>
void with_stride(int stride, const Body& body) {
  if (stride == 2) return body(std::integral_constant<int, 2>{});
  body(std::integral_constant<int, 1>{});
}

bool can_use_vectors(int element_bytes, const void* data, const GridStrides& strides) {
  return is_aligned(element_bytes, kVectorChannels, {data},
                    {strides.batch, strides.row, strides.column});
}

bool can_use_vectors(const ConvolutionParameters& parameters, std::int64_t channels) {
  return is_aligned(sizeof(float), kVectorChannels, {parameters.taps, parameters.bias},
                    {parameters.taps_batch_stride, channels});
}

int element_bytes(DataType type) {
  return type == DataType::bfloat16 ? 2 : 4;
}

/// Calls body(In{}, Out{}, width) for the types and for as many channels at a time as all allow.
template <typename Body>
void with_kernel(const ConvolutionLaunch& arguments, const Body& body) {
  const bool vectors =
      can_use_vectors(element_bytes(arguments.input_type), arguments.x.data, arguments.x.strides) &&
      can_use_vectors(element_bytes(arguments.output_type), arguments.out.data,
                      arguments.out.strides) &&
      can_use_vectors(arguments.parameters, arguments.sizes.channels);
  const auto with_width = [&](auto in, auto out) {
    if (vectors) return body(in, out, std::integral_constant<int, kVectorChannels>{});
    body(in, out, std::integral_constant<int, 1>{});
  };
  if (arguments.output_type == DataType::float32) return with_width(float{}, float{});
  if (arguments.input_type == DataType::float32) return with_width(float{}, Bfloat16{});
  with_width(Bfloat16{}, Bfloat16{});
}

/// How many channels a thread takes where addresses allow it.
int tap_width(const ConvolutionSizes& sizes) {
  return sizes.channels % kVectorChannels == 0 ? kVectorChannels : 1;
}

/// For threads of `width` channels. The chunks depend on the grid and the channels alone, so that
/// the sums of a sample come out the same in every batch.
TapPartition tap_partition(const ConvolutionSizes& sizes, int width) {
  constexpr std::int64_t kMaxLanes = 32, kUnitsPerWorker = 8;
  const auto lanes_for = [](std::int64_t groups) {
    std::int64_t lanes = 1;
    while (lanes < kMaxLanes && lanes < groups) lanes *= 2;
    return lanes;
  };
  const std::int64_t groups = sizes.channels / width, lanes = lanes_for(groups);
  const std::int64_t strips = std::max<std::int64_t>(1, ceil_divide(sizes.out_width(), kStrip));
  const std::int64_t units =
      kUnitsPerWorker * kTapThreads / lanes_for(sizes.channels / tap_width(sizes));
  const std::int64_t rows =
      std::max(ceil_divide(units, strips), ceil_divide(sizes.out_height(), kMaxTapChunks));
  return {static_cast<int>(lanes), static_cast<int>(ceil_divide(groups, lanes)),
          static_cast<int>(std::max<std::int64_t>(1, ceil_divide(sizes.out_height(), rows))),
          static_cast<int>(rows)};
}

}  // namespace

void launch_convolution(const ConvolutionLaunch& arguments, const Stream& stream) {
  const ConvolutionSizes& sizes = arguments.sizes;
  with_kernel(arguments, [&](auto in, auto out, auto width) {
    with_stride(sizes.stride, [&](auto stride) {
      const unsigned int threads =
          checked_count(sizes.batch * sizes.out_height() * ceil_divide(sizes.out_width(), kStrip) *
                        (sizes.channels / width()));
      launch("depthwise convolution",
             convolution_kernel<decltype(in), decltype(out), width(), stride()>,
             {ceil_divide(threads, kConvolutionThreads), kConvolutionThreads}, stream, arguments,
             threads);
    });
  });
}

void launch_transposed_convolution(const ConvolutionLaunch& arguments, const Stream& stream) {
  const ConvolutionSizes& sizes = arguments.sizes;
  with_kernel(arguments, [&](auto in, auto out, auto width) {
    const unsigned int threads =
        checked_count(sizes.batch * sizes.height * sizes.width * (sizes.channels / width()));
    launch("transposed depthwise convolution",
           transposed_convolution_kernel<decltype(in), decltype(out), width()>,
           {ceil_divide(threads, kConvolutionThreads), kConvolutionThreads}, stream, arguments,
           threads);
  });
}

std::int64_t tap_sum_chunks(const ConvolutionSizes& sizes) {
  return tap_partition(sizes, tap_width(sizes)).chunks;
}

void launch_tap_sums(const TapSumsLaunch& arguments, const Stream& stream) {
  const ConvolutionSizes& sizes = arguments.sizes;
  with_element_type(arguments.type, [&](auto element) {
    using T = decltype(element);
    const bool vectors = can_use_vectors(sizeof(T), arguments.x.data, arguments.x.strides) &&
                         can_use_vectors(sizeof(T), arguments.dout.data, arguments.dout.strides) &&
                         can_use_vectors(arguments.parameters, sizes.channels) &&
                         is_aligned(sizeof(float), kVectorChannels, {arguments.dz}, {});
    const auto run = [&](auto width, auto stride) {
      const TapPartition partition = tap_partition(sizes, width());
      const LaunchShape shape{sizes.batch * partition.chunks * partition.channel_blocks,
                              kTapThreads};
      const auto kernel = arguments.dz != nullptr ? tap_sums_kernel<T, width(), stride(), true>
                                                  : tap_sums_kernel<T, width(), stride(), false>;
      launch("depthwise tap sums", kernel, shape, stream, arguments, partition);
    };
    with_stride(sizes.stride, [&](auto stride) {
      if (vectors) return run(std::integral_constant<int, kVectorChannels>{}, stride);
      run(std::integral_constant<int, 1>{}, stride);
    });
  });
}

void launch_chunk_total(const ChunkTotalLaunch& arguments, const Stream& stream) {
  const std::int64_t threads = arguments.groups * arguments.values;
  launch("depthwise totals", chunk_total_kernel,
         {ceil_divide(threads, kConvolutionThreads), kConvolutionThreads}, stream, arguments);
}

}  // namespace ttt::ops::cuda
