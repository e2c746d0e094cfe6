// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
//
// A module of its own: it needs LibTorch's CUDA library, which programs open only when they use a
// GPU.
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <chrono>

/// A new backend over NCCL, owned by the caller (one reference); the store is shared by all
/// processes. LibTorch's exceptions pass through.
extern "C" c10d::Backend* ttt_create_nccl_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                  int rank, int size, std::int64_t timeout_ms) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = std::chrono::milliseconds(timeout_ms);
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, std::move(options))
      .release();
}
