// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs the blocks of a launch one after the other, the threads of a block as fibers. Every other
// block runs its threads in reverse order, so that results that depend on the order differ.

#include "tests/emulator/fault.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace ttt::emulator {

struct Dim3 {
  unsigned int x = 1, y = 1, z = 1;
};

/// The built-in variables of the running thread.
extern Dim3 threadIdx, blockIdx, blockDim, gridDim;

constexpr int kWarpSize = 32;
constexpr int kMaxThreads = 1024;
constexpr std::size_t kMaxSharedBytes = 99 * 1024;  ///< of a block, on the smallest GPU we support

/// Runs `thread_body` once for every thread of every block. Throws the first Fault. What was run of
/// the kernel until then has happened.
void run_grid(Dim3 grid, Dim3 block, std::size_t dynamic_shared_bytes,
              const std::function<void()>& thread_body);

/// The running thread, and how many barriers it has passed; for the check for races.
struct Clock {
  int thread = 0;
  std::uint64_t block_run = 0;  ///< grows with every block that is run
  std::uint64_t block_barriers = 0;
  std::uint64_t warp_barriers = 0;  ///< of the thread's warp
};
Clock now();
/// "block (0,0,0) thread 3" of the running thread.
std::string running_thread();

/// Waits for all threads of the block.
void barrier(Site site);

/// What one lane brings to an operation of its warp.
struct Lane {
  bool waiting = false;
  std::uint32_t mask = 0;
  const void* operation = nullptr;  ///< identifies the kind of operation
  const char* name = "";
  Site site;
  const void* in = nullptr;
  void* out = nullptr;
};
using Lanes = std::array<Lane, kWarpSize>;
/// Computes every lane's result once all lanes of the mask have come.
using WarpOperation = void (*)(const Lanes& lanes, std::uint32_t mask);

/// Waits for the lanes of `mask` at the same operation and place, and runs it.
void warp_operation(WarpOperation operation, const char* name, std::uint32_t mask, const void* in,
                    void* out, Site site);
/// Called by the operation of __syncwarp: what the warp wrote before is visible to it afterwards.
void pass_warp_barrier();

}  // namespace ttt::emulator
