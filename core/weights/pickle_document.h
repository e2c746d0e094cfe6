// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dtype.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::weights {

enum class PickleKind : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  text,
  bytes,
  tuple,
  list,
  dict,
  set,
  global,   ///< a name: class or function, never looked up
  object,   ///< anything that only running code could make
  storage,  ///< a block of tensor data in the archive
  tensor,
  mark,  ///< internal to the reader's stack
};

/// One value of a pickle. The payload is the number itself or an index into the document's tables,
/// so values are cheap to copy, cycles are harmless and nothing is destroyed recursively.
struct PickleValue {
  PickleKind kind = PickleKind::none;
  std::uint64_t payload = 0;
};

struct PickleGlobal {
  std::string_view module;
  std::string_view name;
};

/// An object of foreign code: its class and, for subclasses of dict and list, the items put in.
struct PickleObject {
  PickleGlobal type;
  std::uint64_t items = 0;  ///< table index
};

struct PickleStorage {
  std::string_view key;   ///< record `data/<key>` of the archive
  std::string_view type;  ///< "FloatStorage", "UntypedStorage", …
  std::int64_t elements = 0;
};

struct PickleTensor {
  std::uint64_t storage = 0;  ///< table index
  std::int64_t offset = 0;    ///< in elements
  PickleValue shape;          ///< tuples; checked by whoever uses the tensor
  PickleValue strides;
  std::string_view dtype;  ///< "float8_e4m3fn" where the storage is untyped, else empty
  bool negated = false;    ///< a lazy minus sign, which we don't read
};

/// The content of a pickle as data. Texts are views of the pickle's bytes, which must outlive it.
class PickleDocument {
 public:
  PickleValue root;
  std::size_t consumed = 0;  ///< bytes of the pickle up to its end mark

  std::vector<std::string_view> texts;
  std::vector<std::vector<PickleValue>> containers;
  std::vector<PickleGlobal> globals;
  std::vector<PickleObject> objects;
  std::vector<PickleStorage> storages;
  std::vector<PickleTensor> tensors;

  std::string_view text(PickleValue value) const { return texts[value.payload]; }
  /// Items of a container, of a mapping as key, value, key, value, …; empty for other kinds.
  std::span<const PickleValue> items(PickleValue value) const;
  /// Dictionaries, and objects (such as dict subclasses) that got items by key.
  bool is_mapping(PickleValue value) const;
  /// "int", "dict", "yacs.config.CfgNode", "complex64 tensor", …; safe to print.
  std::string type_name(PickleValue value) const;
};

/// Element type of a typed storage ("FloatStorage") or a dtype name ("float32"); nothing for those
/// that we don't read.
std::optional<DType> dtype_from_torch(std::string_view name);
/// Element type of a tensor, if we read it.
std::optional<DType> tensor_dtype(const PickleDocument& document, const PickleTensor& tensor);

/// Parses a pickle of protocol 0 to 5. Nothing named in it is looked up or called: torch's tensor
/// rebuilding functions and plain containers are understood, the rest becomes objects by name.
/// Memory and time stay in proportion to the input. Throws Error(weights).
PickleDocument read_pickle(std::string_view bytes, const std::string& where);

}  // namespace ttt::weights
