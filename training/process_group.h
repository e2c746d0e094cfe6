// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace ttt::training {

/// The processes of one data-parallel run: LibTorch's c10d, with Gloo for tensors on the CPU and
/// NCCL for those on a GPU (through the host where NCCL is absent).
class ProcessGroup {
 public:
  /// From the variables that torchrun sets (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT); null
  /// without WORLD_SIZE or for one process. Waits for the others. Throws Error(usage) for variables
  /// that are missing or no numbers, Error(device) when the others don't come.
  static std::shared_ptr<ProcessGroup> from_environment();
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// Number of this process among those of its machine (LOCAL_RANK), 0 without the variable. Throws
  /// Error(usage).
  static int local_rank();

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_first() const { return rank_ == 0; }
  /// Replaces the tensor by the sum over all processes, which must call it alike.
  void sum(const at::Tensor& tensor);
  /// The same for many tensors of one type at once.
  void sum(const std::vector<at::Tensor>& tensors);

 private:
  struct Backend;
  ProcessGroup(int rank, int size, std::unique_ptr<Backend> backend);

  int rank_, size_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace ttt::training
