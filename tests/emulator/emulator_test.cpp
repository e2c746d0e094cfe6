// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The emulator itself: right kernels run right, and every kind of broken kernel is reported.
#include "kernels/support/cuda_device.cuh"

#include <gtest/gtest.h>

#include <numeric>

namespace ttt::ops::cuda {
namespace {

using Kernel = void (*)(float*);

void run(Kernel kernel, float* data, unsigned int threads, std::size_t shared_bytes = 0,
         unsigned int blocks = 1) {
  run_grid({blocks}, {threads}, shared_bytes, [&] { kernel(data); });
}

/// Expects a fault of this kind whose message has this text in it.
void expect_fault(Kernel kernel, Fault::Kind kind, const std::string& text,
                  unsigned int threads = 64, std::size_t shared_bytes = 1024) {
  std::vector<float> data(1024, 1.0F);
  try {
    run(kernel, data.data(), threads, shared_bytes);
    FAIL() << "no fault was reported";
  } catch (const Fault& fault) {
    EXPECT_EQ(fault.kind(), kind) << fault.what();
    EXPECT_NE(std::string(fault.what()).find(text), std::string::npos) << fault.what();
  }
}

// ---- right kernels

__global__ void sum_by_tree(float* data) {
  __shared__ SharedArray<float, 128> values;
  const int thread = static_cast<int>(threadIdx.x);
  values[thread] = data[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (thread < half) values[thread] += values[thread + half];
    __syncthreads();
  }
  if (thread == 0) data[blockIdx.x * 128] = values[0];
}

TEST(Emulator, BarriersAndSharedMemory) {
  std::vector<float> data(3 * 128);
  std::iota(data.begin(), data.end(), 0.0F);
  run(sum_by_tree, data.data(), 128, 0, 3);
  for (int block = 0; block < 3; ++block)
    EXPECT_EQ(data[128 * block], 127 * 64 + 128.0F * 128 * static_cast<float>(block));
}

__global__ void rotate_and_vote(float* data) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float value = static_cast<float>(threadIdx.x);
  float sum = value;
  for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(kWholeWarp, sum, bits);
  const float first = __shfl_sync(kWholeWarp, value, 0);
  const float next = __shfl_down_sync(kWholeWarp, value, 1);
  const float before = __shfl_up_sync(kWholeWarp, value, 1);
  const bool even = __ballot_sync(kWholeWarp, lane % 2 == 0) == 0x55555555U;
  const bool any = __any_sync(kWholeWarp, lane == 7) != 0,
             all = __all_sync(kWholeWarp, lane < 31) != 0;
  // Half a warp on its own.
  float half = 0;
  if (lane >= 16) half = __shfl_sync(0xffff0000U, value, 31);
  float* out = data + threadIdx.x * 8;
  out[0] = sum;
  out[1] = first;
  out[2] = next;
  out[3] = before;
  out[4] = even && any && !all ? 1 : 0;
  out[5] = half;
}

TEST(Emulator, ShufflesAndVotes) {
  std::vector<float> data(64 * 8);
  run(rotate_and_vote, data.data(), 64);
  for (int thread = 0; thread < 64; ++thread) {
    const float* out = &data[thread * 8];
    const int warp = thread / 32 * 32, lane = thread % 32;
    EXPECT_EQ(out[0], 31 * 16 + 32 * warp);
    EXPECT_EQ(out[1], warp);
    EXPECT_EQ(out[2], lane == 31 ? thread : thread + 1);
    EXPECT_EQ(out[3], lane == 0 ? thread : thread - 1);
    EXPECT_EQ(out[4], 1);
    EXPECT_EQ(out[5], lane < 16 ? 0 : warp + 31);
  }
}

__global__ void count_with_atomics(float* data) {
  __shared__ SharedArray<int, 2> counters;
  if (threadIdx.x < 2) counters[static_cast<int>(threadIdx.x)] = 0;
  __syncthreads();
  atomicAdd(counters + 0, 1);
  atomicMax(counters + 1, static_cast<int>(threadIdx.x));
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(data, static_cast<float>(counters[0]));
    atomicAdd(data + 1, static_cast<float>(counters[1]));
  }
}

TEST(Emulator, Atomics) {
  std::vector<float> data(2);
  run(count_with_atomics, data.data(), 96, 0, 4);
  EXPECT_EQ(data[0], 4 * 96);
  EXPECT_EQ(data[1], 4 * 95);
}

__global__ void note_place(float* data) {
  if (threadIdx.x == 1 && threadIdx.y == 2) data[blockIdx.x + gridDim.x * blockIdx.y] += blockDim.y;
}

TEST(Emulator, IndicesOfBlocksAndThreads) {
  std::vector<float> data(6);
  run_grid({3, 2}, {2, 4}, 0, [&] { note_place(data.data()); });
  EXPECT_EQ(data, std::vector<float>(6, 4.0F));
}

TEST(Emulator, Bfloat16RoundsToTheNearestEven) {
  EXPECT_EQ(from_float<Bfloat16>(1.0F).bits, 0x3f80);
  EXPECT_EQ(from_float<Bfloat16>(1.00390625F).bits, 0x3f80);  // half way, down to even
  EXPECT_EQ(from_float<Bfloat16>(1.01171875F).bits, 0x3f82);  // half way, up to even
  EXPECT_EQ(from_float<Bfloat16>(3.4e38F).bits, 0x7f80);      // to infinity
  EXPECT_EQ(from_float<Bfloat16>(std::nanf("")).bits & 0x7fff, 0x7fff);
  EXPECT_EQ(to_float(Bfloat16{0xbfc0}), -1.5F);
}

// ---- barriers

__global__ void half_reach_barrier(float*) {
  if (threadIdx.x < 32) __syncthreads();
}
__global__ void two_barriers(float*) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
__global__ void uneven_loop(float*) {
  for (unsigned int i = 0; i <= threadIdx.x / 63; ++i) __syncthreads();
}

TEST(EmulatorFaults, BarriersThatNotAllThreadsReach) {
  expect_fault(half_reach_barrier, Fault::Kind::barrier, "thread 32 has ended");
  expect_fault(two_barriers, Fault::Kind::barrier, "emulator_test.cpp");
  expect_fault(uneven_loop, Fault::Kind::barrier, "thread 63");
}

// ---- warps

__global__ void divergent_shuffle(float* data) {
  if (threadIdx.x % 2 == 0) data[threadIdx.x] = __shfl_sync(kWholeWarp, 1.0F, 0);
}
__global__ void lane_outside_its_mask(float* data) {
  data[threadIdx.x] = __shfl_sync(0x0000ffffU, 1.0F, 0);
}
__global__ void source_outside_the_mask(float* data) {
  if (threadIdx.x < 16) data[threadIdx.x] = __shfl_sync(0x0000ffffU, 1.0F, 20);
}
__global__ void different_masks(float* data) {
  const unsigned int mask = threadIdx.x % 32 == 5 ? 0x7fffffffU : kWholeWarp;
  data[threadIdx.x] = __shfl_sync(mask, 1.0F, 0);
}
__global__ void different_places(float* data) {
  if (threadIdx.x % 32 < 8) {
    data[threadIdx.x] = __shfl_sync(kWholeWarp, 1.0F, 0);
  } else {
    data[threadIdx.x] = __shfl_sync(kWholeWarp, 1.0F, 0);
  }
}
__global__ void divergent_vote(float* data) {
  if (threadIdx.x != 9) data[threadIdx.x] = static_cast<float>(__ballot_sync(kWholeWarp, 1));
}
__global__ void divergent_warp_barrier(float*) {
  if (threadIdx.x % 32 != 31) __syncwarp();
}
__global__ void shuffle_against_barrier(float* data) {
  if (threadIdx.x == 3) {
    __syncthreads();
  } else {
    data[threadIdx.x] = __shfl_sync(kWholeWarp, 1.0F, 0);
  }
}
__global__ void divergent_tile(float*) {
  float c[4] = {};
  const unsigned int a[4] = {}, b[2] = {};
  if (threadIdx.x % 32 < 16) multiply_accumulate(c, a, b);
}
__global__ void whole_mask(float* data) {
  data[threadIdx.x] = __shfl_sync(kWholeWarp, 1.0F, 0);
}

TEST(EmulatorFaults, WarpOperationsThatNotAllLanesReach) {
  expect_fault(divergent_shuffle, Fault::Kind::warp, "thread 1 has ended");
  expect_fault(lane_outside_its_mask, Fault::Kind::warp, "leaves out the calling lane");
  expect_fault(source_outside_the_mask, Fault::Kind::warp, "reads lane 20");
  expect_fault(different_masks, Fault::Kind::warp, "another mask");
  expect_fault(different_places, Fault::Kind::warp, "__shfl_sync");
  expect_fault(divergent_vote, Fault::Kind::warp, "thread 9 has ended");
  expect_fault(divergent_warp_barrier, Fault::Kind::warp, "thread 31 has ended");
  expect_fault(shuffle_against_barrier, Fault::Kind::warp, "thread 3 waits at __syncthreads");
  expect_fault(divergent_tile, Fault::Kind::warp, "multiply_accumulate");
  expect_fault(whole_mask, Fault::Kind::warp, "lane 20, which doesn't exist", 20);
}

// ---- shared memory

__global__ void read_unwritten(float* data) {
  __shared__ SharedArray<float, 64> values;
  if (threadIdx.x != 17) values[static_cast<int>(threadIdx.x)] = 1;
  __syncthreads();
  data[threadIdx.x] = values[static_cast<int>(threadIdx.x)];
}
__global__ void read_unwritten_dynamic(float* data) {
  data[threadIdx.x] = dynamic_shared<float>(0)[0];
}
__global__ void read_half_written(float* data) {
  const SharedPointer<Bfloat16> halves = dynamic_shared<Bfloat16>(0);
  halves[0] = from_float<Bfloat16>(1);
  data[0] = dynamic_shared<float>(0)[0];
}
__global__ void keep_for_next_block(float* data) {
  __shared__ SharedArray<float, 1> value;
  if (blockIdx.x == 0) value[0] = 1;
  data[0] = value[0];
}

TEST(EmulatorFaults, SharedMemoryReadBeforeItIsWritten) {
  expect_fault(read_unwritten, Fault::Kind::uninitialised, "thread 17");
  expect_fault(read_unwritten_dynamic, Fault::Kind::uninitialised, "thread 0");
  expect_fault(read_half_written, Fault::Kind::uninitialised, "thread 0", 1);
  std::vector<float> data(1);
  EXPECT_THROW(run(keep_for_next_block, data.data(), 1, 0, 2), Fault);
}

__global__ void write_behind(float*) {
  __shared__ SharedArray<float, 63> values;
  values[static_cast<int>(threadIdx.x)] = 1;
}
__global__ void write_before(float*) {
  dynamic_shared<float>(0)[-1] = 1;
}
__global__ void vector_over_the_end(float*) {
  store_vector<float, 4>(dynamic_shared<float>(1024 - 16) + 4, {});
}
__global__ void unaligned_vector(float*) {
  store_vector<float, 4>(dynamic_shared<float>(0) + 1, {});
}

TEST(EmulatorFaults, SharedMemoryOutsideItsBounds) {
  expect_fault(write_behind, Fault::Kind::bounds, "thread 63");
  expect_fault(write_before, Fault::Kind::bounds, "byte -4");
  expect_fault(vector_over_the_end, Fault::Kind::bounds, "byte 1024");
  expect_fault(unaligned_vector, Fault::Kind::alignment, "16 bytes at once");
}

__global__ void missing_barrier(float* data) {
  __shared__ SharedArray<float, 64> values;
  values[static_cast<int>(threadIdx.x)] = 1;
  data[threadIdx.x] = values[static_cast<int>(threadIdx.x) / 2];
}
__global__ void missing_barrier_before_reuse(float* data) {
  __shared__ SharedArray<float, 64> values;
  values[static_cast<int>(threadIdx.x)] = 1;
  __syncthreads();
  data[threadIdx.x] = values[static_cast<int>(threadIdx.x)];
  values[(static_cast<int>(threadIdx.x) + 63) % 64] = 2;
}
__global__ void two_writers(float*) {
  __shared__ SharedArray<float, 1> value;
  value[0] = static_cast<float>(threadIdx.x);
}
__global__ void warp_barrier_between_warps(float* data) {
  __shared__ SharedArray<float, 64> values;
  values[static_cast<int>(threadIdx.x)] = 1;
  __syncwarp();
  if (threadIdx.x >= 32) data[threadIdx.x] = values[static_cast<int>(threadIdx.x) - 32];
}
__global__ void warp_barrier_in_warp(float* data) {
  __shared__ SharedArray<float, 64> values;
  const int thread = static_cast<int>(threadIdx.x);
  values[thread] = 1;
  __syncwarp();
  data[thread] = values[thread ^ 1];  // of the same warp
  __syncwarp();
  values[thread ^ 2] = 2;
}

TEST(EmulatorFaults, RacesInSharedMemory) {
  expect_fault(missing_barrier, Fault::Kind::race, "reads what was written");
  expect_fault(missing_barrier_before_reuse, Fault::Kind::race, "overwrites what was read");
  expect_fault(two_writers, Fault::Kind::race, "overwrites what was written");
  expect_fault(warp_barrier_between_warps, Fault::Kind::race, "reads what was written");
  std::vector<float> data(64);
  EXPECT_NO_THROW(run(warp_barrier_in_warp, data.data(), 64));
}

// ---- launches

__global__ void nothing(float*) {}

TEST(EmulatorFaults, ImpossibleLaunches) {
  expect_fault(nothing, Fault::Kind::launch, "no GPU", 1025);
  expect_fault(nothing, Fault::Kind::launch, "no GPU", 0);
  expect_fault(nothing, Fault::Kind::launch, "shared memory", 32, 200 * 1024);
}

TEST(EmulatorFaults, TheNextLaunchRunsAsUsual) {
  expect_fault(half_reach_barrier, Fault::Kind::barrier, "thread 32");
  std::vector<float> data(128, 1.0F);
  run(sum_by_tree, data.data(), 128);
  EXPECT_EQ(data[0], 128);
}

}  // namespace
}  // namespace ttt::ops::cuda
