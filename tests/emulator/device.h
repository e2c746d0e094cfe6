// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stands in for the CUDA headers when g++ compiles a kernel.cuh (kernels/support/cuda_device.cuh
// includes this instead of them). Kernels see these names because their namespace uses this one.

#include "tests/emulator/warp.h"

#include <algorithm>
#include <bit>
#include <cmath>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static  // of SharedArray

namespace ttt::emulator {

inline void __syncthreads(Site site = Site::current()) {
  barrier(site);
}

// One operation at a time: all fibers run on one thread of the operating system.
template <typename T>
T atomicAdd(T* address, T value) {
  const T old = *address;
  *address = old + value;
  return old;
}
template <typename T>
T atomicMax(T* address, T value) {
  const T old = *address;
  *address = std::max(old, value);
  return old;
}
template <typename T>
T atomicAdd(const SharedPointer<T>& address, T value) {
  return atomicAdd(address.atomic(), value);
}
template <typename T>
T atomicMax(const SharedPointer<T>& address, T value) {
  return atomicMax(address.atomic(), value);
}

inline float __uint_as_float(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
inline std::uint32_t __float_as_uint(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// expf, fmaf, sqrtf, erff and so on are those of the C library.
using std::max;
using std::min;

}  // namespace ttt::emulator
