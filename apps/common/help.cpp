// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/help.h"

#include "apps/common/text.h"
#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTextColumn = 30;
constexpr std::size_t kLineWidth = 100;

std::string flags_of(const Option& option) {
  std::string text = option.text.letter != 0 ? fmt::format("-{}, ", option.text.letter) : "    ";
  text += option.is_switch() && option.text.name != "help" ? "--[no-]" : "--";
  text += option.text.name;
  if (!option.text.value.empty()) text += " " + option.text.value;
  return text;
}

std::string default_of(const Option& option) {
  if (!option.text.standard.empty()) return option.text.standard;
  if (option.is_switch()) return option.standard.get<bool>() ? "on" : "off";
  if (option.standard.is_null() || option.is_list()) return {};
  return option.standard.is_string() ? option.standard.get<std::string>()
                                     : dump_json(option.standard);
}

std::string words_of(const Option& option, bool full) {
  std::string text = option.text.help;
  if (!option.text.unit.empty()) text += " [" + option.text.unit + "]";
  const std::string standard = default_of(option);
  std::string details;
  const bool bounded =
      option.type == "integer" || option.type == "number" || option.type == "numbers";
  if (full && bounded && !option.range.empty()) details += option.range + "; ";
  if (option.type == "choice") details += option.range + "; ";
  if (option.is_list()) details += "repeatable; ";
  if (!standard.empty() && !(option.is_switch() && standard == "off"))
    details += "default: " + standard + "; ";
  if (full && !option.command_line_only()) details += option.environment_name() + "; ";
  if (!details.empty()) text += " (" + details.substr(0, details.size() - 2) + ")";
  return text;
}

/// `text` in lines of at most kLineWidth, all but the first indented.
std::string wrap(const std::string& text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::size_t length = end - begin;
    if (column + length > kLineWidth && column > indent) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += text.substr(begin, length);
    column += length;
    begin = end + 1;
  }
  return out;
}

std::string option_lines(const Option& option, bool full) {
  std::string line = "  " + flags_of(option);
  if (line.size() + 2 > kTextColumn) {
    line += '\n' + std::string(kTextColumn, ' ');
  } else {
    line.resize(kTextColumn, ' ');
  }
  return line + wrap(words_of(option, full), kTextColumn) + '\n';
}

std::string usage_line(const OptionTable& table) {
  std::string line = "usage: ttt " + table.command() + " [options]";
  for (const std::string& name : table.positional()) {
    const Option& option = table.at(name);
    line += " " + option.text.value + (option.is_list() ? "…" : "");
  }
  return line + "\n";
}

}  // namespace

std::string help_text(const OptionTable& table, bool full) {
  std::string out = table.summary() + "\n\n" + usage_line(table);
  std::vector<std::string> groups;
  for (const Option& option : table.options())
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end())
      groups.push_back(option.group);
  for (const std::string& group : groups) {
    std::string lines;
    for (const Option& option : table.options())
      if (option.group == group && (full || option.text.common))
        lines += option_lines(option, full);
    if (!lines.empty()) out += "\n" + group + "\n" + lines;
  }
  if (!full)
    return out + fmt::format("\n`ttt {} --help all` shows every option.\n", table.command());
  for (const Preset& preset : table.presets()) {
    if (&preset == &table.presets().front()) out += "\nPresets\n";
    std::string line = "  " + preset.name;
    line.resize(std::max(kTextColumn, line.size() + 1), ' ');
    out += line + wrap(preset.help, kTextColumn) + '\n';
  }
  for (const std::string& note : table.notes()) out += "\n" + wrap(note, 0) + "\n";
  return out;
}

std::string config_text(const OptionTable& table, bool json) {
  if (json) {
    const Json result{
        {"schema", kSchema}, {"command", table.command()}, {"options", options_json(table)}};
    return dump_json(result, 2) + "\n";
  }
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  std::vector<std::array<std::string, 3>> rows;
  for (const Option& option : table.options()) {
    if (option.command_line_only()) continue;
    const Json value = option.get();
    std::string text = value.is_null()     ? "-"
                       : value.is_string() ? printable(value.get<std::string>())
                                           : dump_json(value);
    name_width = std::max(name_width, option.text.name.size());
    value_width = std::max(value_width, std::min<std::size_t>(text.size(), 40));
    rows.push_back({option.text.name, std::move(text), option.origin});
  }
  std::string out;
  for (const auto& [name, value, origin] : rows)
    out += fmt::format("{:<{}}  {:<{}}  {}\n", name, name_width, value, value_width, origin);
  return out;
}

Json options_json(const OptionTable& table) {
  Json options = Json::object();
  for (const Option& option : table.options())
    if (!option.command_line_only())
      options[option.text.name] = Json{{"value", option.get()}, {"origin", option.origin}};
  return options;
}

Json describe_table(const OptionTable& table) {
  Json options = Json::array();
  for (const Option& option : table.options()) {
    Json entry{{"name", option.text.name},
               {"letter",
                option.text.letter != 0 ? Json(std::string(1, option.text.letter)) : Json(nullptr)},
               {"type", option.type},
               {"range", option.range},
               {"default", option.standard},
               {"unit", option.text.unit},
               {"group", option.group},
               {"help", option.text.help},
               {"environment", option.environment_name()}};
    options.push_back(std::move(entry));
  }
  Json presets = Json::array();
  for (const Preset& preset : table.presets()) {
    Json values = Json::object();
    for (const auto& [name, value] : preset.values) values[name] = value;
    presets.push_back({{"name", preset.name}, {"help", preset.help}, {"values", values}});
  }
  return {{"command", table.command()}, {"presets", presets}, {"options", options}};
}

}  // namespace ttt::cli
