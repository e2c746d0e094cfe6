// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/config_file.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace ttt::cli {
namespace {

constexpr std::uintmax_t kLargestConfig = 1 << 20;
constexpr std::string_view kHint = "write one `flag-name: value` per line";

struct Reader {
  OptionTable& table;
  std::string path;
  std::vector<Assignment> assignments = {};
  std::set<std::string> seen = {};
  std::size_t text_bytes = 0;  ///< of all values so far

  std::string place(const YAML::Node& node, const std::string& key = {}) const {
    const int line = node.Mark().line;
    std::string text = path;
    if (line >= 0) text += fmt::format(":{}", line + 1);
    return key.empty() ? text : text + ", " + key;
  }

  std::string scalar(const YAML::Node& node, const std::string& where) {
    TTT_CHECK(node.IsScalar(), usage,
              node.IsNull() ? "the key has no value" : "the value is not a single value", where,
              std::string(kHint));
    // Only aliases (*name) can make more text than the file has, and that without bound.
    text_bytes += node.Scalar().size();
    TTT_CHECK(text_bytes <= kLargestConfig, usage, "aliases repeat too much text", where,
              std::string(kHint));
    return node.Scalar();
  }

  /// Whether a map under this key can stand for options, as `inner: {loss: mse}` for inner-loss.
  bool is_group(const std::string& key) const {
    if (table.find(key) != nullptr) return false;
    const auto& options = table.options();
    return std::any_of(options.begin(), options.end(), [&](const Option& option) {
      return option.text.name.starts_with(key + "-");
    });
  }

  void add_group(const std::string& key, const YAML::Node& group) {
    for (const auto& entry : group) {
      const std::string name = key + "." + scalar(entry.first, place(entry.first));
      add(entry.first, name, entry.second, place(entry.first));
    }
  }

  void add(const YAML::Node& key_node, const YAML::Node& value, const std::string& origin) {
    const std::string key = scalar(key_node, place(key_node));
    if (value.IsMap() && is_group(key)) return add_group(key, value);
    add(key_node, key, value, origin);
  }

  void add(const YAML::Node& key_node, const std::string& key, const YAML::Node& value,
           const std::string& origin) {
    const std::string where = place(key_node, printable(key, 80));
    const Option& option = known_option(table, key, where);
    const std::string& name = option.text.name;
    TTT_CHECK(!option.command_line_only() && name != "config", usage,
              "this option can't stand in a configuration file", where,
              "give it on the command line");
    TTT_CHECK(seen.insert(name).second, usage, "the key is given twice", where,
              "remove one of the two");
    if (!value.IsSequence()) {
      assignments.push_back({name, scalar(value, where), where, origin});
      return;
    }
    TTT_CHECK(option.is_list() || option.type == "numbers", usage, "the option takes one value",
              where, "give a single value instead of a list");
    std::string joined;
    for (const YAML::Node& item : value) {
      const std::string text = scalar(item, where);
      if (option.is_list()) assignments.push_back({name, text, where, origin});
      joined += (joined.empty() ? "" : ",") + text;
    }
    if (!option.is_list()) assignments.push_back({name, joined, where, origin});
  }

  /// A run record keeps each option as {value, origin}.
  void add_record(const YAML::Node& options) {
    for (const auto& entry : options) {
      TTT_CHECK(entry.second.IsMap() && entry.second["origin"] && entry.second["value"], usage,
                "the run record is damaged", place(entry.first), "give a complete run record");
      const bool is_default = entry.second["origin"].Scalar() == "default";
      // Where the earlier run wrote to is its own business.
      const std::string name = entry.first.Scalar();
      if (is_default || name == "output" || name == "overwrite" || name == "resume") continue;
      if (name == "config" || name == "preset" || entry.second["value"].IsNull()) continue;
      add(entry.first, entry.second["value"], "run record " + printable(path));
    }
  }
};

std::string read_text(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  TTT_CHECK(!error, usage, "can't read the configuration: " + error.message(),
            "--config " + printable(path), "give the path of a YAML file");
  TTT_CHECK(size <= kLargestConfig, usage, "the configuration is larger than 1 MiB",
            "--config " + printable(path), "give the path of a YAML file");
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  TTT_CHECK(file.is_open() && !file.bad(), usage, "can't read the configuration",
            "--config " + printable(path), "give the path of a YAML file");
  return text;
}

}  // namespace

std::vector<Assignment> read_config_file(OptionTable& table, const std::string& path) {
  const std::string text = read_text(path);
  Reader reader{table, printable(path)};
  try {
    const YAML::Node root = YAML::Load(text);
    if (root.IsNull()) return {};
    TTT_CHECK(root.IsMap(), usage, "the configuration is not a map", "--config " + printable(path),
              std::string(kHint));
    if (root["program"] && root["options"] && root["options"].IsMap()) {
      reader.add_record(root["options"]);
    } else {
      for (const auto& entry : root)
        reader.add(entry.first, entry.second, reader.place(entry.first));
    }
  } catch (const YAML::Exception& error) {
    const int line = error.mark.line + 1;
    throw Error(ErrorKind::usage, "the configuration is not valid YAML: " + printable(error.msg),
                line > 0 ? fmt::format("{}:{}", reader.path, line) : reader.path,
                std::string(kHint));
  }
  return std::move(reader.assignments);
}

}  // namespace ttt::cli
