// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/list.h"

#include "apps/classify/models.h"
#include "apps/common/general_options.h"
#include "apps/common/help.h"
#include "apps/common/output.h"
#include "apps/common/text.h"
#include "apps/program.h"
#include "apps/render/models.h"
#include "core/device.h"
#include "kernels/registry.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <utility>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ListOptions {
  std::string topic = "all";
  std::string format = "table";
  GeneralOptions general;
};

OptionTable list_table(ListOptions& options) {
  OptionTable table("list", "List what this program knows and what this machine offers.");
  table.group("Options");
  table.add_choice({.name = "topic", .value = "TOPIC", .help = "what to list", .common = true},
                   options.topic,
                   {"all", "models", "presets", "devices", "backends", "ops", "options"});
  table.add_choice({.name = "format", .value = "FORMAT", .help = "how to print it", .common = true},
                   options.format, {"table", "json"});
  table.positional({"topic"});
  add_general_options(table, options.general, false);
  return table;
}

Json list_all_models() {
  Json list = list_models();
  for (Json& model : list_lvsm_models()) list.push_back(std::move(model));
  return list;
}

Json list_presets() {
  Json list = Json::array();
  for (const Command& command : commands()) {
    const Json description = command.describe();
    for (const Json& preset : description["presets"])
      list.push_back({{"command", command.name},
                      {"name", preset["name"]},
                      {"about", preset["help"]},
                      {"values", preset["values"]}});
  }
  return list;
}

Json list_devices_json() {
  Json list = Json::array();
  for (const std::string& line : list_devices()) {
    const std::size_t colon = line.find(": ");
    list.push_back({{"name", line.substr(0, colon)},
                    {"about", colon == std::string::npos ? "" : line.substr(colon + 2)}});
  }
  return list;
}

Json list_backends() {
  return {{{"name", "auto"}, {"about", "the fastest one for the device"}},
          {{"name", "reference"}, {"about", "slow and obvious, in double precision; for checks"}},
          {{"name", "cpu"}, {"about", "fast implementations for the CPU"}},
          {{"name", "cuda"}, {"about", "fast implementations for NVIDIA GPUs"}}};
}

std::string dtype_names(const std::vector<at::ScalarType>& types) {
  std::string names;
  for (const at::ScalarType type : types)
    names += (names.empty() ? "" : ", ") + std::string(c10::toString(type));
  return names.empty() ? "none" : names;
}

Json list_ops() {
  Json list = Json::array();
  for (const ops::Op& op : ops::registry())
    list.push_back({{"name", op.name},
                    {"cpu", "cpu: " + dtype_names(op.support().cpu)},
                    {"cuda", "cuda: " + dtype_names(op.support().cuda)}});
  return list;
}

Json list_options() {
  Json list = Json::array();
  for (const Command& command : commands()) {
    const Json description = command.describe();
    for (const Json& option : description["options"]) {
      Json entry{{"command", command.name}};
      entry.update(option);
      list.push_back(std::move(entry));
    }
  }
  return list;
}

struct Topic {
  std::string_view name;
  Json (*list)();
  bool in_all;
};

constexpr std::array<Topic, 6> kTopics{{{"models", list_all_models, true},
                                        {"presets", list_presets, true},
                                        {"devices", list_devices_json, true},
                                        {"backends", list_backends, true},
                                        {"ops", list_ops, true},
                                        {"options", list_options, false}}};

/// The text fields of the entries in aligned columns.
std::string table_of(const Json& entries) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> widths;
  for (const Json& entry : entries) {
    std::vector<std::string> row;
    for (const auto& [key, value] : entry.items()) {
      if (value.is_object() || key == "help" || key == "group" || key == "environment") continue;
      row.push_back(value.is_string() ? value.get<std::string>() : dump_json(value));
      widths.resize(std::max(widths.size(), row.size()));
      widths[row.size() - 1] = std::max(widths[row.size() - 1], row.back().size());
    }
    rows.push_back(std::move(row));
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format(" {:<{}} ", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text.empty() ? "  none\n" : text;
}

}  // namespace

int list_command(const std::vector<std::string>& arguments) {
  ListOptions options;
  OptionTable table = list_table(options);
  if (start(table, options.general, arguments)) return 0;
  Json result{{"schema", kSchema}};
  std::string text;
  for (const Topic& topic : kTopics) {
    if (options.topic != topic.name && !(options.topic == "all" && topic.in_all)) continue;
    const Json entries = topic.list();
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n", topic.name) + table_of(entries);
    result[std::string(topic.name)] = entries;
  }
  write_stdout(options.format == "json" ? dump_json(result, 2) + "\n" : text);
  return 0;
}

Json describe_list() {
  ListOptions options;
  return describe_table(list_table(options));
}

}  // namespace ttt::cli
