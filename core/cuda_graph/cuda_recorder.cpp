// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
//
// A module of its own: it needs LibTorch's CUDA library, which programs open only when they use a
// GPU. The order of the steps is that of LibTorch's Python wrapper (torch/cuda/graphs.py).
#include "core/cuda_graph/recorder.h"

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/InferenceMode.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <exception>
#include <map>
#include <mutex>

namespace ttt {
namespace {

/// The first passes on a stream load kernels and allocate workspaces, which can't be recorded.
constexpr int kWarmUpPasses = 2;

/// Waiting for the device, as recordings begin, is forbidden while another thread records.
std::mutex recording;

/// The memory of a recorder's graphs on one GPU. LibTorch forgets it with the last graph, after
/// which its name can't be used any more.
struct MemoryPool {
  c10::cuda::MempoolId_t id = at::cuda::graph_pool_handle();
};

template <typename Step>
void ignore_errors(const Step& step) {
  try {
    step();
  } catch (const std::exception&) {
  }
}

class Graph : public at::cuda::CUDAGraph {
 public:
  /// Whether its destructor gives the pool back.
  bool holds_pool() const { return capture_ended_; }
};

class CudaGraph : public RecordedGraph {
 public:
  CudaGraph(c10::Device device, std::shared_ptr<MemoryPool> pool)
      : device_(device), pool_(std::move(pool)) {}
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override {
    // The last replay may still be running in the memory that is given back.
    ignore_errors([&] {
      const c10::cuda::CUDAGuard guard(device_);
      c10::cuda::device_synchronize();
    });
  }

  void record(const std::function<void()>& body) {
    try {
      begin();
      body();
      graph_.capture_end();
    } catch (...) {
      give_up();
      throw;
    }
  }

  void replay() override {
    const c10::cuda::CUDAGuard guard(device_);
    graph_.replay();
  }

 private:
  void begin() {
    // LibTorch keeps tensors of the random number generator, which later recordings write to
    // whether they are in inference mode or not.
    const c10::InferenceMode no_inference(false);
    graph_.capture_begin(pool_->id, cudaStreamCaptureModeThreadLocal);
  }

  /// Takes the stream and the allocators out of the recording, in whatever state it is; steps that
  /// were taken already fail.
  void give_up() {
    at::HostAllocator* host = at::getHostAllocator(at::kCUDA);
    ignore_errors([&] { graph_.capture_end(); });
    ignore_errors(
        [&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(device_.index(), pool_->id); });
    ignore_errors([&] { host->end_allocate_to_pool(pool_->id); });
    if (graph_.holds_pool()) return;
    ignore_errors(
        [&] { c10::cuda::CUDACachingAllocator::releasePool(device_.index(), pool_->id); });
    ignore_errors([&] { host->release_pool(pool_->id); });
  }

  c10::Device device_;
  std::shared_ptr<MemoryPool> pool_;
  Graph graph_;
};

class CudaGraphRecorder : public GraphRecorder {
 public:
  std::unique_ptr<RecordedGraph> record(c10::Device device,
                                        const std::function<void()>& body) override {
    const std::lock_guard lock(recording);
    const c10::cuda::CUDAGuard device_guard(device);
    Place& place = place_on(device);
    c10::cuda::device_synchronize();  // the inputs come from another stream
    const c10::cuda::CUDAStreamGuard stream_guard(place.stream);
    for (int pass = 0; pass < kWarmUpPasses; ++pass) body();
    c10::cuda::device_synchronize();
    c10::cuda::CUDACachingAllocator::emptyCache();  // the graph's memory comes beside it
    auto graph = std::make_unique<CudaGraph>(device, pool_of(place));
    graph->record(body);
    return graph;
  }

 private:
  struct Place {
    c10::cuda::CUDAStream stream;
    std::weak_ptr<MemoryPool> pool;
  };

  Place& place_on(c10::Device device) {
    const auto found = places_.find(device.index());
    if (found != places_.end()) return found->second;
    const auto stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index());
    return places_.emplace(device.index(), Place{stream, {}}).first->second;
  }

  static std::shared_ptr<MemoryPool> pool_of(Place& place) {
    std::shared_ptr<MemoryPool> pool = place.pool.lock();
    if (pool == nullptr) place.pool = pool = std::make_shared<MemoryPool>();
    return pool;
  }

  std::map<c10::DeviceIndex, Place> places_;
};

}  // namespace
}  // namespace ttt

/// A new recorder, owned by the caller.
extern "C" ttt::GraphRecorder* ttt_create_cuda_graph_recorder() {
  return new ttt::CudaGraphRecorder();
}
