// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/resolve.h"

#include "apps/common/command_line.h"
#include "apps/common/config_file.h"
#include "core/error.h"
#include "core/nearest.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <cstdlib>
#include <sstream>

namespace ttt::cli {
namespace {

using Layer = std::vector<Assignment>;

/// Lists are separated by newlines: file names and patterns can hold any other character. An empty
/// variable counts as not set.
Layer read_environment(const OptionTable& table) {
  Layer layer;
  for (const Option& option : table.options()) {
    if (option.command_line_only()) continue;
    const std::string variable = option.environment_name();
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0') continue;
    std::istringstream lines(value);
    std::string line = value;
    if (option.is_list()) {
      while (std::getline(lines, line))
        if (!line.empty())
          layer.push_back({option.text.name, line, variable, "environment " + variable});
    } else {
      layer.push_back({option.text.name, line, variable, "environment " + variable});
    }
  }
  return layer;
}

const Assignment* last_of(const Layer& layer, std::string_view name) {
  for (auto entry = layer.rbegin(); entry != layer.rend(); ++entry)
    if (entry->name == name) return &*entry;
  return nullptr;
}

/// The strongest layer that mentions the option.
const Assignment* strongest(std::initializer_list<const Layer*> strongest_first,
                            std::string_view name) {
  for (const Layer* layer : strongest_first)
    if (const Assignment* found = last_of(*layer, name)) return found;
  return nullptr;
}

Layer read_preset(const OptionTable& table, const Assignment& choice) {
  std::vector<std::string> names;
  for (const Preset& preset : table.presets()) {
    names.push_back(preset.name);
    if (preset.name != choice.value) continue;
    Layer layer;
    for (const auto& [name, value] : preset.values)
      layer.push_back({name, value, "preset " + preset.name, "preset " + preset.name});
    return layer;
  }
  const std::string nearest = nearest_name(choice.value, names);
  throw Error(
      ErrorKind::usage, fmt::format("unknown preset \"{}\"", printable(choice.value, 80)),
      choice.where,
      nearest.empty() ? "`ttt list presets` shows them" : fmt::format("did you mean {}?", nearest));
}

void apply_layer(OptionTable& table, const Layer& layer) {
  for (Option& option : table.options()) {
    Option::Values values;
    const Assignment* last = nullptr;
    for (const Assignment& assignment : layer) {
      if (assignment.name != option.text.name) continue;
      // Each value is checked, also those that a later one replaces.
      if (!option.is_list()) option.set({assignment.value}, assignment.where);
      values.push_back(assignment.value);
      last = &assignment;
    }
    if (last == nullptr) continue;
    if (option.is_list()) option.set(values, last->where);
    option.origin = last->origin;
  }
}

}  // namespace

void resolve_options(OptionTable& table, const std::vector<std::string>& arguments) {
  const Layer command_line = read_command_line(table, arguments);
  const Layer environment = read_environment(table);
  Layer config;
  if (const Assignment* path = strongest({&command_line, &environment}, "config");
      path != nullptr && !table.is_own_config(path->value))
    config = read_config_file(table, path->value);
  Layer preset;
  if (const Assignment* choice = strongest({&command_line, &environment, &config}, "preset"))
    preset = read_preset(table, *choice);
  const std::array<const Layer*, 4> layers{&preset, &config, &environment, &command_line};
  for (const Layer* layer : layers) apply_layer(table, *layer);
}

}  // namespace ttt::cli
