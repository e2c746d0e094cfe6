// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/atomic_file.h"
#include "core/weights/weight_file.h"

#include <ATen/core/Tensor.h>

#include <span>

namespace ttt {

/// Writes a safetensors file tensor by tensor, so that not all of them need to be in memory. The
/// bytes depend on nothing but names, types, shapes, values, metadata and the order given. The file
/// appears under its name at finish().
class SafetensorsWriter {
 public:
  /// `tensors` announces all that will be written (`bytes` is not used). Throws Error(output) for
  /// a path that can't be written, names that occur twice or are reserved, and text that isn't
  /// UTF-8.
  SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorInfo> tensors,
                    const std::map<std::string, std::string>& metadata);

  /// The announced tensors in the order in which append() expects them: larger element types first,
  /// so that each is aligned, else as given.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  /// Writes the next tensor; any device and strides. Its type and shape must be as announced.
  void append(const at::Tensor& tensor);
  /// Completes the file. Throws Error(output) if the disk is full.
  void finish();

 private:
  std::vector<TensorInfo> tensors_;
  std::size_t next_ = 0;
  AtomicFile file_;
};

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// Writes all tensors at once.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace ttt
