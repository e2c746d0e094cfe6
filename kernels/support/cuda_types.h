// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Types of the launch declarations in the ops' cuda.h. C++17 and free of LibTorch and of the CUDA
// headers, so that cuda.cu files and programs without LibTorch can use them.

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ttt::ops::cuda {

/// Element type of the activations.
enum class DataType { float32, bfloat16 };

/// Where a launch is queued: a cudaStream_t (null: the default stream) and the GPU it belongs to.
struct Stream {
  void* handle = nullptr;
  int device = 0;
};

/// Distances between elements, in elements, of an activation [batch, tokens, channels] whose
/// channels are contiguous.
struct TokenStrides {
  std::int64_t batch = 0, token = 0;
};

/// Distances of an activation [batch, rows, columns, channels] whose channels are contiguous.
struct GridStrides {
  std::int64_t batch = 0, row = 0, column = 0;
};

/// A CUDA call that failed.
class Failure : public std::runtime_error {
 public:
  Failure(const std::string& what, bool out_of_memory)
      : std::runtime_error(what), out_of_memory_(out_of_memory) {}
  bool out_of_memory() const { return out_of_memory_; }

 private:
  bool out_of_memory_;
};

}  // namespace ttt::ops::cuda
