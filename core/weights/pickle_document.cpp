// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/pickle_document.h"

#include "core/error.h"

#include <array>
#include <utility>

namespace ttt::weights {
namespace {

constexpr std::array<std::pair<std::string_view, DType>, 25> kTorchTypes{
    {{"DoubleStorage", DType::f64},
     {"FloatStorage", DType::f32},
     {"HalfStorage", DType::f16},
     {"BFloat16Storage", DType::bf16},
     {"LongStorage", DType::i64},
     {"IntStorage", DType::i32},
     {"ShortStorage", DType::i16},
     {"CharStorage", DType::i8},
     {"ByteStorage", DType::u8},
     {"BoolStorage", DType::boolean},
     {"float64", DType::f64},
     {"float32", DType::f32},
     {"float16", DType::f16},
     {"bfloat16", DType::bf16},
     {"float8_e4m3fn", DType::f8_e4m3},
     {"float8_e5m2", DType::f8_e5m2},
     {"int64", DType::i64},
     {"int32", DType::i32},
     {"int16", DType::i16},
     {"int8", DType::i8},
     {"uint64", DType::u64},
     {"uint32", DType::u32},
     {"uint16", DType::u16},
     {"uint8", DType::u8},
     {"bool", DType::boolean}}};

std::string global_name(const PickleGlobal& global) {
  if (global.module == "builtins" || global.module == "__builtin__")
    return printable(global.name, 120);
  return printable(std::string(global.module) + "." + std::string(global.name), 120);
}

}  // namespace

std::optional<DType> dtype_from_torch(std::string_view name) {
  for (const auto& [torch, dtype] : kTorchTypes)
    if (torch == name) return dtype;
  return std::nullopt;
}

std::optional<DType> tensor_dtype(const PickleDocument& document, const PickleTensor& tensor) {
  if (tensor.negated) return std::nullopt;
  return dtype_from_torch(tensor.dtype.empty() ? document.storages[tensor.storage].type
                                               : tensor.dtype);
}

std::span<const PickleValue> PickleDocument::items(PickleValue value) const {
  switch (value.kind) {
    case PickleKind::tuple:
    case PickleKind::list:
    case PickleKind::dict:
    case PickleKind::set:
      return containers[value.payload];
    case PickleKind::object:
      return containers[objects[value.payload].items];
    default:
      return {};
  }
}

bool PickleDocument::is_mapping(PickleValue value) const {
  return value.kind == PickleKind::dict ||
         (value.kind == PickleKind::object && items(value).size() >= 2);
}

std::string PickleDocument::type_name(PickleValue value) const {
  constexpr std::array kNames{"None",   "bool",   "int",     "float",  "str",
                              "bytes",  "tuple",  "list",    "dict",   "set",
                              "global", "object", "storage", "tensor", "mark"};
  if (value.kind == PickleKind::global) return global_name(globals[value.payload]);
  if (value.kind == PickleKind::object) return global_name(objects[value.payload].type);
  if (value.kind == PickleKind::tensor) {
    const PickleTensor& tensor = tensors[value.payload];
    const std::optional<DType> dtype = tensor_dtype(*this, tensor);
    const std::string_view type =
        tensor.dtype.empty() ? storages[tensor.storage].type : tensor.dtype;
    return (dtype ? std::string(to_string(*dtype)) : printable(type, 40)) +
           (tensor.negated ? " tensor with a lazy minus sign" : " tensor");
  }
  return kNames[static_cast<std::size_t>(value.kind)];
}

}  // namespace ttt::weights
