// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/weight_file.h"

#include <ATen/core/Tensor.h>

namespace ttt::weights {

/// Loads the data of tensors of one opened container.
class TensorReader {
 public:
  virtual ~TensorReader() = default;
  /// `index` counts in Contents::tensors.
  virtual at::Tensor read(std::size_t index) const = 0;
};

/// What a container's reader hands to WeightFile; the names are those stored.
struct Contents {
  std::string container;
  std::vector<TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
  std::string weights_key;
  std::vector<std::string> available_keys;
  std::vector<std::string> skipped;
  std::vector<std::filesystem::path> files;
  std::uint64_t file_size = 0;  ///< of all files together
  std::unique_ptr<TensorReader> reader;
};

/// Bytes of a tensor, or false on a negative size or overflow.
bool tensor_bytes(const std::vector<std::int64_t>& shape, DType dtype, std::uint64_t& bytes);

/// More dimensions than any tensor has; ATen's kernels stop at 64.
inline constexpr std::size_t kMaxDimensions = 64;

}  // namespace ttt::weights
