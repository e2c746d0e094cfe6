// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/command_line.h"

#include "core/error.h"
#include "core/nearest.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>

namespace ttt::cli {
namespace {

constexpr std::string_view kSet = "set";

std::string flag(const Option& option) {
  return "--" + option.text.name;
}

Error missing_value(const OptionTable& table, const std::string& given) {
  return {ErrorKind::usage, "the flag needs a value", given,
          fmt::format("`ttt {} --help` shows what it takes", table.command())};
}

/// The option that one argument names exactly, with or without "=value"; null for everything else.
const Option* option_of(const OptionTable& table, std::string_view argument, bool* has_value) {
  *has_value = false;
  if (argument.size() < 2 || argument[0] != '-') return nullptr;
  const bool is_long = argument.starts_with("--");
  const std::size_t equals = is_long ? argument.find('=') : std::string_view::npos;
  *has_value = equals != std::string_view::npos || (!is_long && argument.size() > 2);
  const std::string_view name = argument.substr(2, equals == argument.npos ? equals : equals - 2);
  for (const Option& option : table.options()) {
    if (is_long &&
        (option.text.name == name || (option.is_switch() && name == "no-" + option.text.name)))
      return &option;
    if (!is_long && option.text.letter == argument[1]) return &option;
  }
  return nullptr;
}

/// CLI11 takes whatever follows a flag as its value, even another flag; we call that a missing
/// value.
void check_values_present(const OptionTable& table, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    bool has_value = false;
    const Option* option = option_of(table, arguments[i], &has_value);
    if (option == nullptr || option->is_switch()) continue;
    if (has_value) {
      if (arguments[i].ends_with('=') && arguments[i].find('=') == arguments[i].size() - 1)
        throw missing_value(table, arguments[i]);
      continue;
    }
    if (i + 1 == arguments.size()) throw missing_value(table, arguments[i]);
    bool ignored = false;
    const std::string& next = arguments[i + 1];
    if (next.starts_with("--") || option_of(table, next, &ignored) != nullptr)
      throw missing_value(table, arguments[i]);
    ++i;
  }
}

void declare(CLI::App& app, const OptionTable& table,
             std::map<CLI::Option*, const Option*>& known) {
  app.set_help_flag("");
  app.allow_extras();
  for (const Option& option : table.options()) {
    std::string names = flag(option);
    if (option.is_switch()) names += "{true},--no-" + option.text.name + "{false}";
    if (option.text.letter != 0)
      names += std::string(",-") + option.text.letter + (option.is_switch() ? "{true}" : "");
    CLI::Option* declared = option.is_switch() ? app.add_flag(names) : app.add_option(names);
    if (!option.is_switch()) declared->expected(1);
    declared->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    declared->allow_extra_args(false);
    known[declared] = &option;
  }
}

void check_extras(const OptionTable& table, const std::vector<std::string>& extras) {
  for (const std::string& extra : extras) {
    if (extra.size() < 2 || extra[0] != '-') continue;
    std::string name = extra.substr(0, extra.find('='));
    const std::string nearest =
        name.starts_with("--") ? nearest_name(name.substr(2), table.names()) : "";
    throw Error(ErrorKind::usage, "unknown flag " + printable(name), "ttt " + table.command(),
                nearest.empty()
                    ? fmt::format("`ttt {} --help all` lists the flags", table.command())
                    : fmt::format("did you mean --{}?", nearest));
  }
}

Assignment from_set(OptionTable& table, const std::string& text) {
  const std::string where = "--set " + printable(text, 80);
  const std::size_t equals = text.find('=');
  TTT_CHECK(equals != std::string::npos && equals > 0, usage, "this is not key=value", where,
            "write --set key=value, where key is the name of a flag");
  const Option& option = known_option(table, text.substr(0, equals), where);
  TTT_CHECK(option.text.name != kSet, usage, "--set can't set itself", where,
            "name another flag as the key");
  return {option.text.name, text.substr(equals + 1), where, "command line"};
}

void add_positional(const OptionTable& table, const std::vector<std::string>& values,
                    std::vector<Assignment>& out) {
  const std::vector<std::string>& names = table.positional();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool to_last = !names.empty() && table.at(names.back()).is_list();
    TTT_CHECK(i < names.size() || to_last, usage,
              fmt::format("superfluous argument \"{}\"", printable(values[i], 80)),
              "ttt " + table.command(),
              fmt::format("`ttt {} --help` shows the usage", table.command()));
    const std::string& name = names[std::min(i, names.size() - 1)];
    out.push_back({name, values[i], "argument " + printable(values[i], 80), "command line"});
  }
}

}  // namespace

const Option& known_option(OptionTable& table, std::string_view name, const std::string& where) {
  const Option* option = table.find(name);
  if (option != nullptr) return *option;
  std::vector<std::string> names;
  for (const Option& known : table.options()) names.push_back(known.text.name);
  std::string wanted(name);
  std::replace(wanted.begin(), wanted.end(), '.', '-');
  const std::string nearest = nearest_name(wanted, names);
  throw Error(ErrorKind::usage, fmt::format("unknown option \"{}\"", printable(name, 80)), where,
              nearest.empty()
                  ? fmt::format("`ttt {} --help all` lists the options", table.command())
                  : fmt::format("did you mean {}?", nearest));
}

std::vector<Assignment> read_command_line(OptionTable& table,
                                          const std::vector<std::string>& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  std::vector<std::string> flags(arguments.begin(), end);
  check_values_present(table, flags);

  CLI::App app;
  std::map<CLI::Option*, const Option*> known;
  declare(app, table, known);
  std::reverse(flags.begin(), flags.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(flags));
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorKind::usage, error.what(), "ttt " + table.command(),
                fmt::format("`ttt {} --help` shows the usage", table.command()));
  }
  std::vector<std::string> positional = app.remaining();
  check_extras(table, positional);
  if (end != arguments.end()) positional.insert(positional.end(), end + 1, arguments.end());

  std::vector<Assignment> assignments;
  std::map<CLI::Option*, std::size_t> used;
  for (CLI::Option* declared : app.parse_order()) {
    const Option& option = *known.at(declared);
    const std::string& value = declared->results().at(used[declared]++);
    assignments.push_back(option.text.name == kSet
                              ? from_set(table, value)
                              : Assignment{option.text.name, value, flag(option), "command line"});
  }
  add_positional(table, positional, assignments);
  return assignments;
}

HelpRequest help_requested(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (arguments[i] == "--help=all") return HelpRequest::full;
    if (arguments[i] != "-h" && arguments[i] != "--help") continue;
    const bool all = i + 1 < arguments.size() && arguments[i + 1] == "all";
    return all ? HelpRequest::full : HelpRequest::brief;
  }
  return HelpRequest::none;
}

}  // namespace ttt::cli
