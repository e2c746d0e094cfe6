// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The two tensor-core instructions that our kernels use (PTX ISA: ldmatrix, mma.sync.m16n8k16); the
// emulator has a plain version of each with the same distribution of elements over the lanes.

#include "kernels/support/cuda_device.cuh"

namespace ttt::ops::cuda {

#ifdef __CUDACC__

/// Four 8x8 matrices of 16-bit elements: lane 8i+r names row r of matrix i (16 bytes, aligned);
/// lane l gets of each matrix the elements 2(l%4), 2(l%4)+1 of row l/4, or of column l/4 when
/// transposed.
__device__ __forceinline__ void load_matrices(unsigned int (&registers)[4],
                                              SharedPointer<unsigned short> row, bool transposed) {
  const auto address = static_cast<unsigned int>(__cvta_generic_to_shared(row));
  if (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(address)
                 : "memory");
  }
}

/// c [16,8] += a [16,16] b [16,8] in bfloat16 with float sums. Lane l holds of c the elements
/// (l/4, 2(l%4)), (l/4, 2(l%4)+1) and those eight rows below.
__device__ __forceinline__ void multiply_accumulate(float (&c)[4], const unsigned int (&a)[4],
                                                    const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif  // else: tests/emulator/warp.h

}  // namespace ttt::ops::cuda
