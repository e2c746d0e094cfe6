// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/labels.h"

#include "core/error.h"
#include "core/inputs/read_file.h"
#include "core/inputs/text.h"
#include "vision/imagenet_labels.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace ttt::vision {
namespace {

using nlohmann::json;

constexpr std::int64_t kAmbiguous = -1;

std::string normal_form(std::string_view text) {
  std::string key(text);
  for (char& c : key)
    c = c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return key;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct LabelRow {
  std::int64_t index;
  std::string id, name;
};

std::vector<LabelRow> rows_from_json(const json& document, const std::string& path) {
  std::vector<LabelRow> rows;
  const auto bad = [&](const std::string& what) {
    return Error(ErrorKind::input, what, "labels " + printable(path),
                 "give a list of names, or an object index → name or name → index");
  };
  if (document.is_array()) {
    for (const json& entry : document) {
      if (!entry.is_string()) throw bad("a label is not a string");
      rows.push_back({static_cast<std::int64_t>(rows.size()), {}, entry.get<std::string>()});
    }
    return rows;
  }
  if (!document.is_object()) throw bad("the JSON holds neither a list nor an object");
  for (const auto& [key, value] : document.items()) {
    if (value.is_number_integer()) {
      rows.push_back({value.get<std::int64_t>(), {}, key});
      continue;
    }
    const auto index = whole_number(key);
    if (!index) throw bad("\"" + printable(key) + "\" is not a class index");
    // {"0": ["n01440764", "tench"]} is the form of the ImageNet index that circulates.
    if (value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string()) {
      rows.push_back({*index, value[0].get<std::string>(), value[1].get<std::string>()});
    } else if (value.is_string()) {
      rows.push_back({*index, {}, value.get<std::string>()});
    } else {
      throw bad("the label of class " + key + " is not a string");
    }
  }
  return rows;
}

std::vector<LabelRow> rows_from_lines(const std::vector<std::string>& lines) {
  std::vector<LabelRow> rows;
  for (const std::string& line : lines) {
    const std::size_t first = line.find('\t');
    const auto index = first == std::string::npos
                           ? std::nullopt
                           : whole_number(std::string_view(line).substr(0, first));
    if (!index) {
      rows.push_back({static_cast<std::int64_t>(rows.size()), {}, line});
      continue;
    }
    const std::size_t second = line.find('\t', first + 1);
    if (second == std::string::npos) {
      rows.push_back({*index, {}, line.substr(first + 1)});
    } else {
      rows.push_back({*index, line.substr(first + 1, second - first - 1), line.substr(second + 1)});
    }
  }
  return rows;
}

/// Rows in order of their index, which must be 0, 1, 2, …
void sort_and_check(std::vector<LabelRow>& rows, const std::string& path) {
  TTT_CHECK(!rows.empty(), input, "the label file is empty", "labels " + printable(path),
            "give one name per line");
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LabelRow& a, const LabelRow& b) { return a.index < b.index; });
  for (std::size_t i = 0; i < rows.size(); ++i)
    TTT_CHECK(rows[i].index == static_cast<std::int64_t>(i), input,
              "class index " + std::to_string(rows[i].index) + " stands where " +
                  std::to_string(i) + " was expected",
              "labels " + printable(path), "number the classes 0, 1, 2, … without gaps");
}

}  // namespace

void LabelSet::add(std::string id, std::string name) {
  const auto index = static_cast<std::int64_t>(names_.size());
  for (const std::string& key : {normal_form(id), normal_form(name)}) {
    if (key.empty()) continue;
    const auto [entry, fresh] = by_key_.emplace(key, index);
    if (!fresh && entry->second != index) entry->second = kAmbiguous;
  }
  names_.push_back(std::move(name));
}

LabelSet LabelSet::from_file(const std::string& path) {
  return from_text(inputs::read_file(path), path);
}

LabelSet LabelSet::from_text(std::span<const std::uint8_t> bytes, const std::string& path) {
  const std::vector<std::string> lines = read_text_lines(bytes);
  std::vector<LabelRow> rows;
  const bool is_json =
      !lines.empty() && (lines.front().starts_with('[') || lines.front().starts_with('{'));
  if (is_json) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
    TTT_CHECK(!document.is_discarded(), input, "the JSON is malformed", "labels " + printable(path),
              "check the file, or give one name per line");
    rows = rows_from_json(document, path);
  } else {
    rows = rows_from_lines(lines);
  }
  sort_and_check(rows, path);
  LabelSet labels;
  for (LabelRow& row : rows) labels.add(std::move(row.id), std::move(row.name));
  return labels;
}

LabelSet LabelSet::imagenet() {
  const std::string_view text = kImageNetLabels;
  return from_text({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()},
                   "of ImageNet");
}

LabelSet LabelSet::from_names(std::vector<std::string> names) {
  LabelSet labels;
  for (std::string& name : names) labels.add({}, std::move(name));
  return labels;
}

std::string LabelSet::name(std::int64_t index) const {
  if (index >= 0 && index < static_cast<std::int64_t>(names_.size()))
    return names_[static_cast<std::size_t>(index)];
  return "class " + std::to_string(index);
}

std::optional<std::int64_t> LabelSet::find(std::string_view id_or_name) const {
  const auto found = by_key_.find(normal_form(id_or_name));
  if (found == by_key_.end() || found->second == kAmbiguous) return std::nullopt;
  return found->second;
}

std::map<std::string, std::int64_t> match_class_folders(
    const std::vector<std::string>& sorted_names, const LabelSet& labels, std::int64_t classes) {
  std::map<std::string, std::int64_t> matched;
  for (const std::string& name : sorted_names)
    if (const auto index = labels.find(name); index && *index < classes) matched[name] = *index;
  if (matched.size() == sorted_names.size()) return matched;
  matched.clear();
  for (const std::string& name : sorted_names)
    if (const auto index = whole_number(name); index && *index >= 0 && *index < classes)
      matched[name] = *index;
  if (matched.size() == sorted_names.size()) return matched;
  matched.clear();
  if (static_cast<std::int64_t>(sorted_names.size()) != classes) return matched;
  for (const std::string& name : sorted_names)
    matched.emplace(name, static_cast<std::int64_t>(matched.size()));
  return matched;
}

}  // namespace ttt::vision
