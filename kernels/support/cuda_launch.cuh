// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Host side of a launch, for cuda.cu files: the launch itself with its error check, and the choice
// of a kernel by dtype.

#include "kernels/support/cuda_device.cuh"

#include <initializer_list>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#endif

namespace ttt::ops::cuda {

struct LaunchShape {
  std::int64_t blocks = 0;  ///< none: nothing is launched
  int threads = 0;
  int shared_bytes = 0;  ///< dynamic
};

inline std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// All these addresses (bytes) and distances (elements) are multiples of `elements` elements.
inline bool is_aligned(int element_bytes, int elements, std::initializer_list<const void*> pointers,
                       std::initializer_list<std::int64_t> distances) {
  bool aligned = true;
  const auto bytes = static_cast<std::uintptr_t>(element_bytes) * elements;
  for (const void* pointer : pointers)
    aligned = aligned && reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
  for (const std::int64_t distance : distances) aligned = aligned && distance % elements == 0;
  return aligned;
}

#ifdef __CUDACC__

inline void check_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // clears it
  throw Failure(std::string(what) + ": " + cudaGetErrorString(error),
                error == cudaErrorMemoryAllocation);
}

/// Launches on the stream's GPU, which stays the calling thread's current one.
template <typename... Parameters>
void launch(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape,
            const Stream& stream, const Parameters&... arguments) {
  if (shape.blocks == 0) return;
  constexpr int kDefaultSharedBytes = 48 * 1024;  // more has to be asked for
  check_cuda(cudaSetDevice(stream.device), "cudaSetDevice");
  if (shape.shared_bytes > kDefaultSharedBytes)
    check_cuda(
        cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, shape.shared_bytes),
        name);
  if (shape.blocks > 0x7fffffff) throw Failure(std::string(name) + ": too many blocks", false);
  kernel<<<static_cast<unsigned int>(shape.blocks), shape.threads, shape.shared_bytes,
           static_cast<cudaStream_t>(stream.handle)>>>(arguments...);
  check_cuda(cudaGetLastError(), name);
}

#else

template <typename... Parameters>
void launch(const char*, void (*kernel)(Parameters...), const LaunchShape& shape, const Stream&,
            const Parameters&... arguments) {
  if (shape.blocks == 0) return;
  run_grid({static_cast<unsigned int>(shape.blocks)}, {static_cast<unsigned int>(shape.threads)},
           static_cast<std::size_t>(shape.shared_bytes), [&] { kernel(arguments...); });
}

#endif

/// Calls body(T{}) with the element type of the activations.
template <typename Body>
void with_element_type(DataType type, const Body& body) {
  if (type == DataType::bfloat16) return body(Bfloat16{});
  body(float{});
}

}  // namespace ttt::ops::cuda
