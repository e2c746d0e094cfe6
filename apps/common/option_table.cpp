// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/option_table.h"

#include "core/error.h"
#include "core/nearest.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

template <typename Value>
Json json_of(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string kebab(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '_', '-');
  std::replace(result.begin(), result.end(), '.', '-');
  return result;
}

}  // namespace

std::string Option::environment_name() const {
  std::string name = "TTT_";
  for (const char c : text.name)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

OptionTable::OptionTable(std::string command, std::string summary)
    : command_(std::move(command)), summary_(std::move(summary)) {}

void OptionTable::add(OptionText text, std::string type, std::string range,
                      std::function<void(const Option::Values&, const std::string&)> set,
                      std::function<Json()> get) {
  TTT_CHECK(find(text.name) == nullptr, internal, "an option is declared twice", text.name);
  Option option;
  option.text = std::move(text);
  option.type = std::move(type);
  option.group = group_;
  option.range = std::move(range);
  option.set = std::move(set);
  option.get = std::move(get);
  option.standard = option.get();
  options_.push_back(std::move(option));
}

void OptionTable::add_switch(OptionText text, bool& target) {
  add(
      std::move(text), "switch", "",
      [&target](const Option::Values& values, const std::string& where) {
        target = parse_boolean(values.back(), where);
      },
      [&target] { return Json(target); });
}

void OptionTable::add_integer(OptionText text, std::int64_t& target, Range range) {
  add(
      std::move(text), "integer", describe(range),
      [&target, range](const Option::Values& values, const std::string& where) {
        target = parse_integer(values.back(), range, where);
      },
      [&target] { return Json(target); });
}

void OptionTable::add_integer(OptionText text, std::optional<std::int64_t>& target, Range range) {
  add(
      std::move(text), "integer", describe(range),
      [&target, range](const Option::Values& values, const std::string& where) {
        target = parse_integer(values.back(), range, where);
      },
      [&target] { return json_of(target); });
}

void OptionTable::add_number(OptionText text, std::optional<double>& target, Range range) {
  add(
      std::move(text), "number", describe(range),
      [&target, range](const Option::Values& values, const std::string& where) {
        target = parse_real(values.back(), range, where);
      },
      [&target] { return json_of(target); });
}

void OptionTable::add_number(OptionText text, double& target, Range range) {
  add(
      std::move(text), "number", describe(range),
      [&target, range](const Option::Values& values, const std::string& where) {
        target = parse_real(values.back(), range, where);
      },
      [&target] { return Json(target); });
}

void OptionTable::add_text(OptionText text, std::string& target) {
  add(
      std::move(text), "text", "",
      [&target](const Option::Values& values, const std::string& where) {
        TTT_CHECK(!values.back().empty(), usage, "the value is empty", where, "give a value");
        target = values.back();
      },
      [&target] { return target.empty() ? Json(nullptr) : Json(target); });
}

void OptionTable::add_choice(OptionText text, std::string& target,
                             std::vector<std::string> choices) {
  const std::string words = fmt::format("{}", fmt::join(choices, ", "));
  add(
      std::move(text), "choice", words,
      [&target, choices, words](const Option::Values& values, const std::string& where) {
        const std::string& value = values.back();
        const bool known = std::find(choices.begin(), choices.end(), value) != choices.end();
        const std::string nearest = known ? "" : nearest_name(value, choices);
        TTT_CHECK(known, usage, fmt::format("unknown value \"{}\"", printable(value, 80)), where,
                  (nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest)) +
                      "allowed: " + words);
        target = value;
      },
      [&target] { return Json(target); });
}

void OptionTable::add_size(OptionText text, std::optional<PixelSize>& target) {
  add(
      std::move(text), "size", "WIDTHxHEIGHT",
      [&target](const Option::Values& values, const std::string& where) {
        target = parse_size(values.back(), where);
      },
      [&target] { return target ? Json(to_string(*target)) : Json(nullptr); });
}

void OptionTable::add_numbers(OptionText text, std::optional<std::array<double, 3>>& target,
                              Range range) {
  add(
      std::move(text), "numbers", describe(range),
      [&target, range](const Option::Values& values, const std::string& where) {
        target = parse_triple(values.back(), range, where);
      },
      [&target] { return json_of(target); });
}

void OptionTable::add_list(OptionText text, std::vector<std::string>& target) {
  add(
      std::move(text), "list", "",
      [&target](const Option::Values& values, const std::string& where) {
        for (const std::string& value : values)
          TTT_CHECK(!value.empty(), usage, "the value is empty", where, "give a value");
        target = values;
      },
      [&target] { return Json(target); });
}

Option* OptionTable::find(std::string_view name) {
  const std::string wanted = kebab(name);
  for (Option& option : options_)
    if (option.text.name == wanted) return &option;
  return nullptr;
}

const Option& OptionTable::at(std::string_view name) const {
  for (const Option& option : options_)
    if (option.text.name == name) return option;
  throw Error(ErrorKind::internal, "no such option in the table", std::string(name));
}

std::vector<std::string> OptionTable::names() const {
  std::vector<std::string> all;
  for (const Option& option : options_) all.push_back(option.text.name);
  for (const Option& option : options_)
    if (option.is_switch()) all.push_back("no-" + option.text.name);
  return all;
}

}  // namespace ttt::cli
