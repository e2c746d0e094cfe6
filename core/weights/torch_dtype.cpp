// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/torch_dtype.h"

#include <array>
#include <utility>

namespace ttt {
namespace {

constexpr std::array<std::pair<DType, at::ScalarType>, 15> kTypes{
    {{DType::f64, at::ScalarType::Double},
     {DType::f32, at::ScalarType::Float},
     {DType::f16, at::ScalarType::Half},
     {DType::bf16, at::ScalarType::BFloat16},
     {DType::f8_e4m3, at::ScalarType::Float8_e4m3fn},
     {DType::f8_e5m2, at::ScalarType::Float8_e5m2},
     {DType::i64, at::ScalarType::Long},
     {DType::i32, at::ScalarType::Int},
     {DType::i16, at::ScalarType::Short},
     {DType::i8, at::ScalarType::Char},
     {DType::u64, at::ScalarType::UInt64},
     {DType::u32, at::ScalarType::UInt32},
     {DType::u16, at::ScalarType::UInt16},
     {DType::u8, at::ScalarType::Byte},
     {DType::boolean, at::ScalarType::Bool}}};

}  // namespace

at::ScalarType scalar_type(DType dtype) {
  for (const auto& [ours, torch] : kTypes)
    if (ours == dtype) return torch;
  return at::ScalarType::Undefined;
}

std::optional<DType> dtype_of(at::ScalarType type) {
  for (const auto& [ours, torch] : kTypes)
    if (torch == type) return ours;
  return std::nullopt;
}

}  // namespace ttt
