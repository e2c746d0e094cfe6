// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/parse_values.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ttt::cli {

/// What a user is told about an option. The environment name follows from `name`.
struct OptionText {
  std::string name;           ///< kebab-case, e.g. "top-k"
  char letter = 0;            ///< short flag, if any
  std::string value = {};     ///< placeholder such as "N" or "FILE"; empty for switches
  std::string help = {};      ///< one sentence without a full stop
  std::string unit = {};      ///< "pixels", "seconds", …
  std::string standard = {};  ///< the default in words, where the value alone says little ("auto")
  bool common = false;        ///< shown in the short help too
};

struct Option {
  using Values = std::vector<std::string>;

  OptionText text;
  std::string type;  ///< "switch", "integer", "number", "text", "choice", "size", "numbers", "list"
  std::string group;
  std::string range;  ///< allowed values in words
  /// Replaces the value by what these texts say. `where` goes into error messages.
  std::function<void(const Values&, const std::string& where)> set;
  std::function<nlohmann::ordered_json()> get;
  nlohmann::ordered_json standard;  ///< get() before anything was set
  std::string origin = "default";   ///< where the present value comes from

  bool is_switch() const { return type == "switch"; }
  bool is_list() const { return type == "list"; }
  /// Asks something of this one call (--help, …) and so has no place in the other layers.
  bool command_line_only() const {
    return text.name == "help" || text.name == "print-config" || text.name == "set";
  }
  /// "TTT_TOP_K" for "top-k".
  std::string environment_name() const;
};

/// A named set of option values.
struct Preset {
  std::string name;
  std::string help;
  std::vector<std::pair<std::string, std::string>> values;
};

/// The options of one subcommand: the only place that says what they are called, what they accept
/// and where the value goes. References given to it must outlive it.
class OptionTable {
 public:
  OptionTable(std::string command, std::string summary);

  /// Options added from here on belong to this group of the help.
  void group(std::string name) { group_ = std::move(name); }
  void add_switch(OptionText text, bool& target);
  void add_integer(OptionText text, std::int64_t& target, Range range);
  void add_integer(OptionText text, std::optional<std::int64_t>& target, Range range);
  void add_number(OptionText text, double& target, Range range);
  void add_number(OptionText text, std::optional<double>& target, Range range);
  void add_text(OptionText text, std::string& target);
  void add_choice(OptionText text, std::string& target, std::vector<std::string> choices);
  void add_size(OptionText text, std::optional<PixelSize>& target);
  void add_numbers(OptionText text, std::optional<std::array<double, 3>>& target, Range range);
  /// Can be given several times.
  void add_list(OptionText text, std::vector<std::string>& target);

  /// Arguments without a flag fill these options in turn; the last takes all that remain if it is a
  /// list.
  void positional(std::vector<std::string> names) { positional_ = std::move(names); }
  void add_preset(Preset preset) { presets_.push_back(std::move(preset)); }
  /// Tells for a --config file whether it is the command's own affair instead of a list of options.
  void own_config(std::function<bool(const std::string& path)> test) {
    own_config_ = std::move(test);
  }
  bool is_own_config(const std::string& path) const { return own_config_ && own_config_(path); }
  /// A paragraph at the end of the long help.
  void note(std::string_view text) { notes_.emplace_back(text); }

  const std::string& command() const { return command_; }
  const std::string& summary() const { return summary_; }
  const std::vector<std::string>& positional() const { return positional_; }
  const std::vector<Preset>& presets() const { return presets_; }
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<Option>& options() const { return options_; }
  std::vector<Option>& options() { return options_; }
  /// By kebab-case or snake_case name, or with dots as in "inner.loss"; null when there is none.
  Option* find(std::string_view name);
  const Option& at(std::string_view name) const;
  /// All names, switches also as "no-…"; for suggestions.
  std::vector<std::string> names() const;

 private:
  void add(OptionText text, std::string type, std::string range,
           std::function<void(const Option::Values&, const std::string&)> set,
           std::function<nlohmann::ordered_json()> get);

  std::string command_;
  std::string summary_;
  std::string group_ = "Options";
  std::vector<Option> options_;
  std::vector<std::string> positional_;
  std::vector<Preset> presets_;
  std::vector<std::string> notes_;
  std::function<bool(const std::string&)> own_config_;
};

}  // namespace ttt::cli
