// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/inspect.h"

#include "apps/classify/models.h"
#include "apps/common/general_options.h"
#include "apps/common/help.h"
#include "apps/common/output.h"
#include "apps/render/models.h"
#include "apps/weight_tools/inspect.h"
#include "core/error.h"

#include <sstream>

namespace ttt::cli {
namespace {

struct InspectArguments {
  std::string weights;
  std::string weights_key;
  std::string format = "table";
  GeneralOptions general;
};

OptionTable inspect_table(InspectArguments& arguments) {
  OptionTable table(
      "inspect", "Show what a weight file holds: model, tensors, metadata. Loads no tensor data.");
  table.group("Options");
  table.add_text(
      {.name = "weights",
       .letter = 'w',
       .value = "FILE",
       .help = "weight file, or a folder that holds one; the same as an argument without "
               "a flag",
       .common = true},
      arguments.weights);
  table.add_text({.name = "weights-key",
                  .value = "KEY",
                  .help = "dictionary inside the checkpoint, such as model or state_dict_ema",
                  .standard = "EMA weights first",
                  .common = true},
                 arguments.weights_key);
  table.add_choice({.name = "format", .value = "FORMAT", .help = "how to print it", .common = true},
                   arguments.format, {"table", "json"});
  table.positional({"weights"});
  add_general_options(table, arguments.general, false);
  return table;
}

}  // namespace

int inspect_command(const std::vector<std::string>& arguments) {
  InspectArguments parsed;
  OptionTable table = inspect_table(parsed);
  if (start(table, parsed.general, arguments)) return 0;
  TTT_CHECK(!parsed.weights.empty(), usage, "no weight file is given", "ttt inspect",
            "give one: `ttt inspect FILE`");
  InspectOptions options;
  options.path = parsed.weights;
  options.weights_key = parsed.weights_key;
  options.format = parsed.format == "json" ? InspectFormat::json : InspectFormat::text;
  options.recognise = [](const WeightFile& file) {
    const std::string classifier = recognised_model(file);
    return classifier.empty() ? recognised_lvsm(file.tensors()) : classifier;
  };
  std::ostringstream text;
  run_inspect(options, text);
  write_stdout(text.str());
  return 0;
}

nlohmann::ordered_json describe_inspect() {
  InspectArguments arguments;
  return describe_table(inspect_table(arguments));
}

}  // namespace ttt::cli
