// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/cuda_graph/recorder.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ttt {

/// Whether launches that repeat are recorded as CUDA graphs.
enum class CudaGraphMode {
  automatic,  ///< on GPUs; plain launches, with a warning, where recording fails
  on,         ///< on GPUs; an error where there is none or recording fails
  off,
};

/// Reads auto, on or off. Throws Error(usage).
CudaGraphMode parse_cuda_graph_mode(std::string_view word);
/// Throws Error(device) when graphs are demanded on a device that has none.
void check_cuda_graph_mode(CudaGraphMode mode, c10::Device device);

/// Runs functions of tensors whose shapes repeat, in inference. The first calls of a shape launch
/// plainly; then the launches are recorded, and further calls copy their inputs to where the
/// recorded ones lay and replay. On CPUs, and when switched off, every call is a plain one.
/// To be called from one thread at a time.
class GraphRunner {
 public:
  using Tensors = std::vector<at::Tensor>;
  using Function = std::function<Tensors(const Tensors&)>;
  /// Recordings and counts of calls that are kept, those used last.
  static constexpr std::size_t kKept = 8;
  static constexpr int kPlainPasses = 2;

  /// `recorder`: null takes CUDA graphs, opened when first needed. Throws Error(device) as
  /// check_cuda_graph_mode does; a recorder that is given serves every device.
  GraphRunner(CudaGraphMode mode, c10::Device device,
              std::shared_ptr<GraphRecorder> recorder = nullptr);

  /// function(inputs) with the inputs moved to the device, without gradients. A recorded function
  /// is kept with its graph, and so is what it owns: it must own all tensors that it reads besides
  /// its inputs, and do the same for inputs of the same shapes and types. `variant` tells functions
  /// apart. Outputs last until the next call. Throws what the function throws; Error(device) where
  /// recording fails in mode `on`.
  Tensors run(const Function& function, const Tensors& inputs, std::string_view variant = {});

  /// Graphs that are there to be replayed.
  std::size_t recorded() const;

 private:
  struct Call;

  Call& find(std::string key);
  void record(Call& call, const Function& function, const Tensors& inputs);
  Tensors on_device(const Tensors& tensors) const;

  CudaGraphMode mode_;
  c10::Device device_;
  bool enabled_;
  bool failed_ = false;  // to record, which then isn't tried again
  std::shared_ptr<GraphRecorder> recorder_;
  std::list<std::shared_ptr<Call>> calls_;  // the one used last comes first
};

}  // namespace ttt
