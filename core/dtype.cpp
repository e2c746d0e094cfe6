// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/dtype.h"

#include <array>

namespace ttt {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view safetensors;
  std::string_view name;
  std::size_t size;
  bool floating;
};

constexpr std::array<DTypeInfo, 15> kDTypes{{{DType::f64, "F64", "float64", 8, true},
                                             {DType::f32, "F32", "float32", 4, true},
                                             {DType::f16, "F16", "float16", 2, true},
                                             {DType::bf16, "BF16", "bfloat16", 2, true},
                                             {DType::f8_e4m3, "F8_E4M3", "float8_e4m3fn", 1, true},
                                             {DType::f8_e5m2, "F8_E5M2", "float8_e5m2", 1, true},
                                             {DType::i64, "I64", "int64", 8, false},
                                             {DType::i32, "I32", "int32", 4, false},
                                             {DType::i16, "I16", "int16", 2, false},
                                             {DType::i8, "I8", "int8", 1, false},
                                             {DType::u64, "U64", "uint64", 8, false},
                                             {DType::u32, "U32", "uint32", 4, false},
                                             {DType::u16, "U16", "uint16", 2, false},
                                             {DType::u8, "U8", "uint8", 1, false},
                                             {DType::boolean, "BOOL", "bool", 1, false}}};

const DTypeInfo& info(DType dtype) {
  return kDTypes[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::string_view safetensors_name(DType dtype) {
  return info(dtype).safetensors;
}
std::string_view to_string(DType dtype) {
  return info(dtype).name;
}
std::size_t element_size(DType dtype) {
  return info(dtype).size;
}
bool is_floating(DType dtype) {
  return info(dtype).floating;
}

std::optional<DType> dtype_from_safetensors(std::string_view name) {
  for (const DTypeInfo& entry : kDTypes)
    if (entry.safetensors == name) return entry.dtype;
  return std::nullopt;
}

}  // namespace ttt
