// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// What the calls that torch.save writes into a pickle stand for (pytorch/pytorch: torch/_utils.py,
// torch/_tensor.py, torch/serialization.py).
#include "core/weights/pickle_reader.h"

namespace ttt::weights {
namespace {

bool is_named(const PickleGlobal& global, std::string_view module, std::string_view name) {
  return global.module == module && global.name == name;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  for (const std::string_view candidate : names)
    if (candidate == name) return true;
  return false;
}

}  // namespace

PickleValue PickleReader::call(PickleValue function, PickleValue arguments) {
  // Tensors with Python attributes or of a subclass: (function, class, arguments, state).
  constexpr int kMaxWrappers = 8;
  for (int i = 0; i < kMaxWrappers; ++i) {
    if (arguments.kind != PickleKind::tuple || function.kind != PickleKind::global)
      return make_object(function);
    const std::span<const PickleValue> items = document_.items(arguments);
    const PickleGlobal name = document_.globals[function.payload];
    if (name.module != "torch._tensor" ||
        !is_one_of(name.name, {"_rebuild_from_type", "_rebuild_from_type_v2"}) || items.size() < 3)
      break;
    function = items[0];
    arguments = items[2];
  }
  if (arguments.kind != PickleKind::tuple || function.kind != PickleKind::global)
    return make_object(function);
  const std::span<const PickleValue> items = document_.items(arguments);
  const PickleGlobal name = document_.globals[function.payload];
  if (name.module == "torch._utils") {
    if (is_one_of(name.name, {"_rebuild_tensor", "_rebuild_tensor_v2"}))
      return rebuild_tensor(items, false);
    if (name.name == "_rebuild_tensor_v3") return rebuild_tensor(items, true);
    if (is_one_of(name.name, {"_rebuild_parameter", "_rebuild_parameter_with_state"}) &&
        !items.empty() && items[0].kind == PickleKind::tensor)
      return items[0];
  }
  if (name.module == "collections" && is_one_of(name.name, {"OrderedDict", "defaultdict"}))
    return ordered_dict(items);
  if (is_named(name, "torch", "Size") && items.size() == 1) return items[0];
  // The generic constructors name the class in their first argument.
  if ((is_one_of(name.module, {"copyreg", "copy_reg"})) && !items.empty())
    return make_object(items[0]);
  return make_object(function);
}

PickleValue PickleReader::rebuild_tensor(std::span<const PickleValue> arguments, bool has_dtype) {
  if (arguments.size() < (has_dtype ? 7U : 4U) || arguments[0].kind != PickleKind::storage ||
      arguments[1].kind != PickleKind::integer)
    fail("a tensor is described wrongly");
  PickleTensor tensor;
  tensor.storage = arguments[0].payload;
  tensor.offset = static_cast<std::int64_t>(arguments[1].payload);
  tensor.shape = arguments[2];
  tensor.strides = arguments[3];
  if (has_dtype && arguments[6].kind == PickleKind::global)
    tensor.dtype = document_.globals[arguments[6].payload].name;
  // The last argument lists lazy operations as {"conj": True, "neg": True}.
  const std::size_t flags = has_dtype ? 7 : 6;
  if (arguments.size() > flags) {
    const std::span<const PickleValue> items = document_.items(arguments[flags]);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
      if (items[i].kind == PickleKind::text && document_.text(items[i]) == "neg" &&
          items[i + 1].payload != 0)
        tensor.negated = true;
  }
  document_.tensors.push_back(tensor);
  return {PickleKind::tensor, document_.tensors.size() - 1};
}

PickleValue PickleReader::ordered_dict(std::span<const PickleValue> arguments) {
  std::vector<PickleValue> pairs;
  if (!arguments.empty() && arguments[0].kind == PickleKind::list) {
    for (const PickleValue& item : document_.items(arguments[0])) {
      const std::span<const PickleValue> pair = document_.items(item);
      if (pair.size() != 2) fail("a dictionary has a key without a value");
      spend(1);  // one list may be copied many times
      pairs.insert(pairs.end(), pair.begin(), pair.end());
    }
  }
  return make_container(PickleKind::dict, std::move(pairs));
}

PickleValue PickleReader::load_persistent(PickleValue id) {
  const std::span<const PickleValue> items = document_.items(id);
  if (id.kind != PickleKind::tuple || items.size() < 5 || items[0].kind != PickleKind::text ||
      document_.text(items[0]) != "storage" || items[1].kind != PickleKind::global ||
      items[2].kind != PickleKind::text || items[4].kind != PickleKind::integer)
    return make_named_object("pickle", "persistent_id");
  document_.storages.push_back({document_.text(items[2]), document_.globals[items[1].payload].name,
                                static_cast<std::int64_t>(items[4].payload)});
  return {PickleKind::storage, document_.storages.size() - 1};
}

}  // namespace ttt::weights
