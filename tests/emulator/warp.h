// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Warp-wide functions of CUDA: shuffles, votes, the warp barrier, and the tensor-core instructions
// that kernels/support/cuda_mma.cuh wraps, in a plain version with the same layout of registers.

#include "tests/emulator/shared_memory.h"

namespace ttt::emulator {

/// What __shfl_*_sync read: `source` is a lane number.
std::uint64_t shuffle_bits(std::uint64_t bits, int source, std::uint32_t mask, const char* name,
                           Site site);

template <typename T>
T shuffle(T value, int source, std::uint32_t mask, const char* name, Site site) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = shuffle_bits(bits, source, mask, name, site);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

inline int lane_id() {
  return now().thread % kWarpSize;
}

template <typename T>
T __shfl_sync(std::uint32_t mask, T value, int source, Site site = Site::current()) {
  return shuffle(value, source % kWarpSize, mask, "__shfl_sync", site);
}
template <typename T>
T __shfl_xor_sync(std::uint32_t mask, T value, int bits, Site site = Site::current()) {
  return shuffle(value, lane_id() ^ bits, mask, "__shfl_xor_sync", site);
}
template <typename T>
T __shfl_down_sync(std::uint32_t mask, T value, unsigned int by, Site site = Site::current()) {
  const int source = lane_id() + static_cast<int>(by);
  return shuffle(value, source < kWarpSize ? source : lane_id(), mask, "__shfl_down_sync", site);
}
template <typename T>
T __shfl_up_sync(std::uint32_t mask, T value, unsigned int by, Site site = Site::current()) {
  const int source = lane_id() - static_cast<int>(by);
  return shuffle(value, source >= 0 ? source : lane_id(), mask, "__shfl_up_sync", site);
}

std::uint32_t __ballot_sync(std::uint32_t mask, int predicate, Site site = Site::current());
inline int __any_sync(std::uint32_t mask, int predicate, Site site = Site::current()) {
  return __ballot_sync(mask, predicate, site) != 0 ? 1 : 0;
}
inline int __all_sync(std::uint32_t mask, int predicate, Site site = Site::current()) {
  return __ballot_sync(mask, predicate, site) == mask ? 1 : 0;
}
void __syncwarp(std::uint32_t mask = 0xffffffffU, Site site = Site::current());

/// Four 8x8 matrices of 16-bit elements: lane 8i+r names row r of matrix i; lane l gets of each
/// matrix the elements 2(l%4), 2(l%4)+1 of row l/4, or of column l/4 when transposed.
void load_matrices(std::uint32_t (&registers)[4], const SharedPointer<std::uint16_t>& row,
                   bool transposed, Site site = Site::current());
/// c (16x8, float) += a (16x16) * b (16x8), bfloat16, with the registers of mma.m16n8k16.
void multiply_accumulate(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                         Site site = Site::current());

}  // namespace ttt::emulator
