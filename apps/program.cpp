// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/program.h"

#include "apps/bench.h"
#include "apps/classify.h"
#include "apps/common/console.h"
#include "apps/common/output.h"
#include "apps/convert.h"
#include "apps/inspect.h"
#include "apps/list.h"
#include "apps/render.h"
#include "apps/selftest.h"
#include "apps/train.h"
#include "apps/version.h"
#include "apps/view.h"
#include "core/error.h"
#include "core/nearest.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <filesystem>

namespace ttt::cli {
namespace {

constexpr std::string_view kUsage = "usage: ttt COMMAND [options] [inputs]\n";

constexpr std::string_view kConventions = R"(
Values of options
  defaults < --preset < --config FILE < environment (TTT_TOP_K for --top-k) < command line.
  `--print-config` shows every value and where it comes from. A flag that is given twice counts
  with its last value; flags that collect (inputs, patterns) add up. `--` ends the flags.

Streams
  Results go to standard output or to --output; log lines, progress and errors to standard error.

Exit codes
  0    all done
  2    usage: a flag or argument is wrong
  3    weights: missing, damaged, or of another model
  4    some inputs failed; the other results are valid
  5    output: results could not be written (also when the reader of a pipe went away)
  6    memory
  7    the device or backend is not available
  8    a check failed
  70   internal error
  130  interrupted; finished results are kept
)";

std::string overview(bool full) {
  std::string text = "Test-time-training vision models.\n\n" + std::string(kUsage) + "\nCommands\n";
  for (const Command& command : commands())
    text += fmt::format("  {:<10}{}\n", command.name, command.summary);
  text += fmt::format("  {:<10}{}\n", "help", "help on a command: `ttt help classify`");
  text += "\nOptions\n  --version   what this program was built from\n  -h, --help  this text\n";
  if (full) return text + std::string(kConventions);
  return text + "\n`ttt COMMAND --help` explains a command, `ttt --help all` the conventions.\n";
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  std::error_code ignored;
  const std::string nearest = nearest_name(name, names);
  std::string hint = "`ttt --help` lists the commands";
  if (!nearest.empty()) {
    hint = fmt::format("did you mean `ttt {}`?", nearest);
  } else if (name.starts_with("-")) {
    hint = "flags go behind the command: `ttt COMMAND [options]`";
  } else if (std::filesystem::exists(name, ignored)) {
    hint = fmt::format("did you mean `ttt classify {}`?", printable(name));
  }
  throw Error(ErrorKind::usage,
              fmt::format("unknown {} \"{}\"", name.starts_with("-") ? "flag" : "command",
                          printable(name, 80)),
              "ttt", hint);
}

int run_help(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] == "all") {
    write_stdout(overview(!arguments.empty()));
    return 0;
  }
  std::vector<std::string> request{"--help"};
  request.insert(request.end(), arguments.begin() + 1, arguments.end());
  return find_command(arguments[0]).run(request);
}

}  // namespace

std::span<const Command> commands() {
  static constexpr std::array<Command, 9> kCommands{{
      {"classify", "label pictures", classify_command, describe_classify},
      {"render", "render new views of a scene from posed pictures", render_command,
       describe_render},
      {"view", "look around a scene in a web browser", view_command, describe_view},
      {"train", "train a model", train_command, describe_train},
      {"inspect", "what a weight file holds", inspect_command, describe_inspect},
      {"convert", "write weights as safetensors", convert_command, describe_convert},
      {"selftest", "compare the fast implementations with the reference on this machine",
       selftest_command, describe_selftest},
      {"bench", "measure operations and models on this machine, or compare two such results",
       bench_command, describe_bench},
      {"list", "models, presets, devices, backends, operations and options", list_command,
       describe_list},
  }};
  return kCommands;
}

int run_program(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    Console::instance().print("", std::string(kUsage) + "`ttt --help` lists the commands");
    return exit_code(ErrorKind::usage);
  }
  const std::string& first = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (first == "--version") {
    write_stdout(version_text());
    return 0;
  }
  if (first == "-h" || first == "--help" || first == "help") return run_help(rest);
  if (first == "--help=all") return run_help({"all"});
  return find_command(first).run(rest);
}

}  // namespace ttt::cli
