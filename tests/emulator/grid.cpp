// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/grid.h"

#include "tests/emulator/fiber.h"
#include "tests/emulator/shared_memory.h"

#include <exception>
#include <memory>
#include <vector>

namespace ttt::emulator {

Dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace {

std::string words(const Dim3& d) {
  return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
}

class Block {
 public:
  void run(int threads, bool reverse, const std::function<void()>& body);
  void barrier(Site site);
  void warp_operation(WarpOperation operation, const Lane& lane);
  void pass_warp_barrier() { ++warp_barriers_[running_ / kWarpSize]; }
  Clock now() const {
    return {running_, block_run_, block_barriers_, warp_barriers_[running_ / kWarpSize]};
  }
  int running() const { return running_; }

 private:
  enum class State { ready, at_barrier, in_warp_operation, done };

  void start_thread(int thread, const std::function<void()>& body);
  void run_thread(int thread);
  void wait(State state) {
    states_[running_] = state;
    fibers_[running_]->suspend();
  }
  void release();
  [[noreturn]] void report_incomplete_warp(int thread) const;
  std::string describe(int thread) const;

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<State> states_;
  std::vector<Site> sites_;  // of the barrier that a thread waits at
  std::array<Lanes, kMaxThreads / kWarpSize> warps_;
  std::array<std::uint64_t, kMaxThreads / kWarpSize> warp_barriers_{};
  std::uint64_t block_run_ = 0, block_barriers_ = 0;
  std::exception_ptr failure_;
  int threads_ = 0, running_ = 0;
};

Block block;

void set_thread_index(int thread) {
  const auto index = static_cast<unsigned int>(thread);
  threadIdx = {index % blockDim.x, index / blockDim.x % blockDim.y,
               index / (blockDim.x * blockDim.y)};
}

void Block::run(int threads, bool reverse, const std::function<void()>& body) {
  threads_ = threads;
  ++block_run_;
  failure_ = nullptr;
  warps_ = {};
  states_.assign(threads, State::ready);
  sites_.assign(threads, {});
  for (int thread = 0; thread < threads; ++thread) start_thread(thread, body);
  for (;;) {
    bool all_done = true, progress = false;
    for (int i = 0; i < threads; ++i) {
      const int thread = reverse ? threads - 1 - i : i;
      if (states_[thread] == State::ready) {
        run_thread(thread);
        progress = true;
      }
      all_done = all_done && states_[thread] == State::done;
    }
    if (all_done) return;
    if (!progress) release();
  }
}

void Block::start_thread(int thread, const std::function<void()>& body) {
  if (static_cast<int>(fibers_.size()) <= thread) fibers_.push_back(std::make_unique<Fiber>());
  fibers_[thread]->start([this, thread, &body] {
    try {
      body();
    } catch (...) {
      failure_ = std::current_exception();
    }
    states_[thread] = State::done;
  });
}

void Block::run_thread(int thread) {
  running_ = thread;
  set_thread_index(thread);
  fibers_[thread]->resume();
  if (failure_) std::rethrow_exception(failure_);
}

std::string Block::describe(int thread) const {
  const std::string name = "thread " + std::to_string(thread);
  const Lane& lane = warps_[thread / kWarpSize][thread % kWarpSize];
  switch (states_[thread]) {
    case State::at_barrier:
      return name + " waits at __syncthreads " + to_string(sites_[thread]);
    case State::in_warp_operation:
      return name + " waits in " + lane.name + " " + to_string(lane.site);
    case State::done:
      return name + " has ended";
    case State::ready:
      break;
  }
  return name + " runs";
}

void Block::report_incomplete_warp(int thread) const {
  const int first = thread / kWarpSize * kWarpSize;
  const std::uint32_t mask = warps_[thread / kWarpSize][thread % kWarpSize].mask;
  std::string text = "block " + words(blockIdx) + ": " + describe(thread);
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const int other = first + lane;
    if ((mask >> lane & 1) == 0) continue;
    if (other >= threads_) {
      text += ", its mask names lane " + std::to_string(lane) + ", which doesn't exist";
      break;
    }
    if (states_[other] == State::in_warp_operation) continue;
    text += ", but " + describe(other);
    break;
  }
  throw Fault(Fault::Kind::warp, text);
}

/// No thread can run: opens the barrier, or reports why it stays closed.
void Block::release() {
  int waiting = -1;
  for (int thread = 0; thread < threads_; ++thread) {
    if (states_[thread] == State::in_warp_operation) report_incomplete_warp(thread);
    if (waiting < 0 && states_[thread] == State::at_barrier) waiting = thread;
  }
  for (int thread = 0; thread < threads_; ++thread)
    if (states_[thread] == State::done || !same_place(sites_[thread], sites_[waiting]))
      throw Fault(Fault::Kind::barrier, "block " + words(blockIdx) + ": " + describe(waiting) +
                                            ", but " + describe(thread));
  ++block_barriers_;
  states_.assign(threads_, State::ready);
}

void Block::barrier(Site site) {
  sites_[running_] = site;
  wait(State::at_barrier);
}

void Block::warp_operation(WarpOperation operation, const Lane& lane) {
  const int warp = running_ / kWarpSize, own = running_ % kWarpSize;
  Lanes& lanes = warps_[warp];
  if ((lane.mask >> own & 1) == 0)
    throw Fault(Fault::Kind::warp, running_thread() + ": the mask of " + lane.name + " " +
                                       to_string(lane.site) + " leaves out the calling lane");
  lanes[own] = lane;
  bool complete = true;
  for (int i = 0; i < kWarpSize; ++i) {
    if ((lane.mask >> i & 1) == 0) continue;
    const Lane& other = lanes[i];
    if (!other.waiting) {
      complete = false;
    } else if (other.mask != lane.mask || other.operation != lane.operation ||
               !same_place(other.site, lane.site)) {
      throw Fault(Fault::Kind::warp, running_thread() + " is in " + lane.name + " " +
                                         to_string(lane.site) + ", but lane " + std::to_string(i) +
                                         " of its mask is in " + other.name + " " +
                                         to_string(other.site) + " or has another mask");
    }
  }
  if (!complete) return wait(State::in_warp_operation);
  operation(lanes, lane.mask);
  for (int i = 0; i < kWarpSize; ++i) {
    if ((lane.mask >> i & 1) == 0) continue;
    lanes[i].waiting = false;
    states_[warp * kWarpSize + i] = State::ready;
  }
}

}  // namespace

void run_grid(Dim3 grid, Dim3 block_size, std::size_t dynamic_shared_bytes,
              const std::function<void()>& thread_body) {
  const auto threads = static_cast<std::uint64_t>(block_size.x) * block_size.y * block_size.z;
  if (threads < 1 || threads > kMaxThreads || grid.x < 1 || grid.y < 1 || grid.z < 1 ||
      grid.x > 0x7fffffffU || grid.y > 65535 || grid.z > 65535)
    throw Fault(Fault::Kind::launch,
                "no GPU launches " + words(grid) + " blocks of " + words(block_size) + " threads");
  SharedMemory::instance().allocate_dynamic(dynamic_shared_bytes);
  gridDim = grid;
  blockDim = block_size;
  bool reverse = false;
  for (unsigned int z = 0; z < grid.z; ++z)
    for (unsigned int y = 0; y < grid.y; ++y)
      for (unsigned int x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        block.run(static_cast<int>(threads), reverse, thread_body);
        reverse = !reverse;
      }
}

Clock now() {
  return block.now();
}

std::string running_thread() {
  return "block " + words(blockIdx) + " thread " + std::to_string(block.running());
}

void barrier(Site site) {
  block.barrier(site);
}

void warp_operation(WarpOperation operation, const char* name, std::uint32_t mask, const void* in,
                    void* out, Site site) {
  block.warp_operation(operation,
                       {true, mask, reinterpret_cast<const void*>(operation), name, site, in, out});
}

void pass_warp_barrier() {
  block.pass_warp_barrier();
}

}  // namespace ttt::emulator
