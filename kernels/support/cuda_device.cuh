// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every kernel.cuh starts from: element types, vector accesses and shared memory, under nvcc
// or under the host emulator. C++17; no host code, no LibTorch.

#include "kernels/support/cuda_types.h"

#ifndef __CUDACC__
#include TTT_DEVICE_EMULATOR  // tests/emulator/device.h
#endif

namespace ttt::ops::cuda {

#ifndef __CUDACC__
using namespace ttt::emulator;
#else
/// Shared memory is a plain pointer on a GPU; the emulator checks every access instead.
template <typename T>
using SharedPointer = T*;

template <typename T, int kCount>
struct SharedArray {
  T data[kCount];
  __device__ T& operator[](int i) { return data[i]; }
  __device__ T* operator+(int i) { return data + i; }
};
#endif

constexpr unsigned int kWholeWarp = 0xffffffffU;

/// A bfloat16 in memory. Conversion to it rounds to the nearest, ties to even.
struct Bfloat16 {
  unsigned short bits;
};

__device__ __forceinline__ float to_float(float value) {
  return value;
}
__device__ __forceinline__ float to_float(Bfloat16 value) {
  return __uint_as_float(static_cast<unsigned int>(value.bits) << 16);
}

template <typename T>
__device__ __forceinline__ T from_float(float value);
template <>
__device__ __forceinline__ float from_float<float>(float value) {
  return value;
}
template <>
__device__ __forceinline__ Bfloat16 from_float<Bfloat16>(float value) {
#ifdef __CUDACC__
  Bfloat16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
#else
  const unsigned int bits = __float_as_uint(value);
  if (value != value) return {0x7fff};  // NaN, as the instruction gives it
  return {static_cast<unsigned short>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16)};
#endif
}

/// N elements that are read or written at once; their address is a multiple of their size.
template <typename T, int N>
struct alignas(sizeof(T) * N) Vector {
  T data[N];
};

template <typename T, int N>
__device__ __forceinline__ Vector<T, N> load_vector(const T* from) {
  return *reinterpret_cast<const Vector<T, N>*>(from);
}
template <typename T, int N>
__device__ __forceinline__ void store_vector(T* to, const Vector<T, N>& value) {
  *reinterpret_cast<Vector<T, N>*>(to) = value;
}

#ifndef __CUDACC__
template <typename T, int N>
Vector<T, N> load_vector(const SharedPointer<T>& from) {
  Vector<T, N> value;
  from.read(&value, sizeof(value), alignof(Vector<T, N>));
  return value;
}
template <typename T, int N>
void store_vector(const SharedPointer<T>& to, const Vector<T, N>& value) {
  to.write(&value, sizeof(value), alignof(Vector<T, N>));
}
#endif

/// The block's dynamic shared memory from this byte on.
template <typename T>
__device__ __forceinline__ SharedPointer<T> dynamic_shared(int byte_offset) {
#ifdef __CUDACC__
  extern __shared__ __align__(16) unsigned char dynamic_shared_bytes[];
  return reinterpret_cast<T*>(dynamic_shared_bytes + byte_offset);
#else
  return {SharedMemory::kDynamic, byte_offset};
#endif
}

/// Elements of 16 bytes, the widest access there is.
template <typename T>
constexpr int kVectorElements = 16 / static_cast<int>(sizeof(T));

}  // namespace ttt::ops::cuda
