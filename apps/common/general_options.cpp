// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/general_options.h"

#include "apps/common/command_line.h"
#include "apps/common/console.h"
#include "apps/common/help.h"
#include "apps/common/output.h"
#include "apps/common/resolve.h"
#include "core/error.h"
#include "core/log.h"
#include "core/version.h"

#include <spdlog/fmt/ranges.h>

namespace ttt::cli {

void add_general_options(OptionTable& table, GeneralOptions& options, bool has_progress) {
  table.group("General");
  table.add_text(
      {.name = "config",
       .value = "FILE",
       .help = "read options from a YAML file, or from the run record of an earlier run"},
      options.config);
  if (!table.presets().empty())
    table.add_text({.name = "preset", .value = "NAME", .help = "start from a named set of options"},
                   options.preset);
  table.add_list({.name = "set", .value = "KEY=VALUE", .help = "set any option by name"},
                 options.set);
  table.add_switch(
      {.name = "print-config", .help = "print every option with its value and origin, and stop"},
      options.print_config);
  table.add_switch({.name = "verbose",
                    .letter = 'v',
                    .help = "print details, and where in the source an error arose",
                    .common = true},
                   options.verbose);
  table.add_switch(
      {.name = "quiet", .letter = 'q', .help = "print only results and errors", .common = true},
      options.quiet);
  table.add_text({.name = "log-file", .value = "FILE", .help = "append all log lines to a file"},
                 options.log_file);
  table.add_choice({.name = "color", .value = "WHEN", .help = "colour in messages"}, options.color,
                   {"auto", "always", "never"});
  if (has_progress)
    table.add_integer({.name = "progress-fd",
                       .value = "N",
                       .help = "write progress as JSON lines to this file descriptor"},
                      options.progress_fd, {2, 1023});
  table.add_switch({.name = "help",
                    .letter = 'h',
                    .help = "print this help; `--help all` shows everything",
                    .common = true},
                   options.help);
}

bool start(OptionTable& table, GeneralOptions& options, const std::vector<std::string>& arguments) {
  const HelpRequest help = help_requested(arguments);
  if (help != HelpRequest::none) {
    write_stdout(help_text(table, help == HelpRequest::full));
    return true;
  }
  // Mistakes in the arguments themselves deserve details too.
  for (const std::string& argument : arguments)
    if (argument == "-v" || argument == "--verbose") set_log_level(LogLevel::debug);
  resolve_options(table, arguments);
  if (options.print_config) {
    const Option* format = table.find("format");
    const nlohmann::ordered_json value = format != nullptr ? format->get() : nullptr;
    write_stdout(config_text(table, value == "json" || value == "jsonl"));
    return true;
  }
  TTT_CHECK(!options.verbose || !options.quiet, usage,
            "--verbose and --quiet contradict each other", "ttt " + table.command(),
            "give one of them");
  set_log_level(options.verbose ? LogLevel::debug
                                : (options.quiet ? LogLevel::error : LogLevel::info));
  Console::instance().set_color(options.color);
  if (!options.log_file.empty()) set_log_file(options.log_file);
  const BuildInfo& build = build_info();
  std::string line = fmt::format("ttt {} ({}): {}", build.version, build.commit, table.command());
  for (const std::string& argument : arguments) line += " " + printable(argument);
  log(LogLevel::debug, line);
  return false;
}

ProgressDisplay::Settings progress_settings(const GeneralOptions& options) {
  ProgressDisplay::Settings settings;
  settings.show = !options.quiet;
  if (options.progress_fd) {
    settings.descriptor = static_cast<int>(*options.progress_fd);
    check_progress_descriptor(*settings.descriptor);
  }
  return settings;
}

}  // namespace ttt::cli
