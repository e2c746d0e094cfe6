// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "nvs/scene/json_fields.h"
#include "nvs/scene/selection.h"

#include <spdlog/fmt/fmt.h>

#include <map>

namespace ttt::nvs {
namespace {

constexpr const char* kHint = "name each view by its index, its file, or both";

Json list_json(const Scene& scene, const std::vector<int>& indices) {
  Json list = Json::array();
  for (const int index : indices)
    list.push_back(
        {{"index", index}, {"file", scene.frames[static_cast<std::size_t>(index)].name}});
  return list;
}

/// An entry is a number, a name or both; of several frames with one name the index decides.
int entry_index(const Json& entry, const std::multimap<std::string, int>& names,
                const std::string& where) {
  if (entry.is_number_integer()) {
    const auto value = entry.get<std::int64_t>();
    TTT_CHECK(value >= 0 && value <= 1'000'000, input, "a view number is out of range", where,
              "views count from 0");
    return static_cast<int>(value);
  }
  const auto by_name = [&](const std::string& name, int index) {
    const auto [first, last] = names.equal_range(name);
    TTT_CHECK(first != last, input, fmt::format("the scene has no view {}", printable(name)), where,
              "use the scene that the selection was made for");
    for (auto it = first; it != last; ++it)
      if (it->second == index) return index;
    return first->second;
  };
  if (entry.is_string()) return by_name(entry.get<std::string>(), -1);
  TTT_CHECK(entry.is_object(), input, "a view is neither a number nor a name", where, kHint);
  const double index = number_field(entry, "index", where).value_or(-1);
  const std::optional<std::string> name = text_field(entry, "file", where);
  if (name.has_value())
    return by_name(*name, index >= 0 && index < 1e6 ? static_cast<int>(index) : -1);
  TTT_CHECK(index >= 0 && index <= 1e6, input, "a view has no index", where, kHint);
  return static_cast<int>(index);
}

}  // namespace

std::string selection_to_json(const Scene& scene, const ViewSelection& selection) {
  const Json json{{"schema", 1},
                  {"scene", selection.scene_name},
                  {"frames", scene.frames.size()},
                  {"method", selection.method},
                  {"inputs", list_json(scene, selection.inputs)},
                  {"targets", list_json(scene, selection.targets)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

ViewSelection read_selection(const Scene& scene, const std::string& file) {
  const Json json = read_json(file);
  const std::string where = printable(file);
  TTT_CHECK(json.is_object() && json.contains("inputs"), input, "the file holds no selection",
            where, "give a file with lists of inputs and targets");
  std::multimap<std::string, int> names;
  for (std::size_t i = 0; i < scene.frames.size(); ++i)
    names.emplace(scene.frames[i].name, static_cast<int>(i));
  ViewSelection out;
  out.scene_name = text_field(json, "scene", where).value_or("");
  out.method = text_field(json, "method", where).value_or("");
  for (const auto& [key, list] : {std::pair{"inputs", &out.inputs}, {"targets", &out.targets}}) {
    const auto found = json.find(key);
    if (found == json.end()) continue;
    TTT_CHECK(found->is_array(), input, fmt::format("{} is not a list", key), where, kHint);
    for (const Json& entry : *found) list->push_back(entry_index(entry, names, where));
  }
  check_selection(scene, out);
  return out;
}

}  // namespace ttt::nvs
