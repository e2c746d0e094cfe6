// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/weight_file.h"

#include <optional>

namespace ttt::cli {

struct ConvertOptions {
  std::filesystem::path input;
  std::filesystem::path output;  ///< *.safetensors
  /// New type of floating tensors; integers and booleans always keep theirs. Nothing: keep all.
  std::optional<DType> dtype;
  std::string weights_key;
  bool overwrite = false;
};

/// The value of `--dtype`: "fp32", "fp16", "bf16", or "keep" (nothing). Throws Error(usage).
std::optional<DType> parse_convert_dtype(const std::string& text);

struct ConvertResult {
  std::size_t tensors = 0;
  std::size_t converted = 0;  ///< to another type
  std::uint64_t bytes = 0;    ///< size of the written file
};

/// `ttt convert`: writes the chosen tensors of any weight file as safetensors, one at a time, with
/// the metadata of the input. Without a type the values are kept bit for bit. Throws Error(output)
/// for another suffix or an existing file, Error(weights) for bad input, for floating values that
/// are finite but beyond the range of the new type, and Error(usage) for a type that isn't
/// floating.
ConvertResult run_convert(const ConvertOptions& options);

}  // namespace ttt::cli
