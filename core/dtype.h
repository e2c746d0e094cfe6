// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace ttt {

/// Element types of stored tensors. Names are those of the safetensors header.
enum class DType {
  f64,
  f32,
  f16,
  bf16,
  f8_e4m3,
  f8_e5m2,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean
};

/// Name as in a safetensors header: "F32", "BF16", "I64", "BOOL", …
std::string_view safetensors_name(DType dtype);
std::optional<DType> dtype_from_safetensors(std::string_view name);
/// Name as PyTorch users write it: "float32", "bfloat16", "int64", "bool", …
std::string_view to_string(DType dtype);
std::size_t element_size(DType dtype);
bool is_floating(DType dtype);

}  // namespace ttt
