// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <memory>

namespace ttt {

/// Launches that were recorded and can be made again in one go.
class RecordedGraph {
 public:
  virtual ~RecordedGraph() = default;
  /// Launches everything again, on the current stream of the recording's device: reads and writes
  /// the memory that it read and wrote when it was recorded. Returns before the work is done.
  virtual void replay() = 0;
};

/// Records what a function launches on a GPU.
class GraphRecorder {
 public:
  virtual ~GraphRecorder() = default;
  /// Calls `body` a few times for warm-up and once to record it. `body` must launch the same each
  /// time, on the current stream, may not wait for the device, and takes memory from LibTorch
  /// alone. Memory that it takes is shared with the other recordings of this recorder, so that what
  /// one leaves behind lasts until the next replay of any. Throws what `body` throws, and
  /// LibTorch's exceptions where it can't be recorded; launches outside of graphs go on as before.
  virtual std::unique_ptr<RecordedGraph> record(c10::Device device,
                                                const std::function<void()>& body) = 0;
};

/// LibTorch's CUDA graphs, from a library of its own which needs LibTorch's CUDA library: to be
/// opened for tensors on a GPU only. Throws Error(device) where this build has none.
std::unique_ptr<GraphRecorder> open_cuda_graph_recorder();

}  // namespace ttt
