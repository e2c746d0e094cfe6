// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/convert.h"

#include "apps/common/general_options.h"
#include "apps/common/help.h"
#include "apps/weight_tools/convert.h"
#include "core/error.h"

namespace ttt::cli {
namespace {

struct ConvertArguments {
  std::string weights;
  std::string output;
  std::string dtype = "keep";
  std::string weights_key;
  bool overwrite = false;
  GeneralOptions general;
};

OptionTable convert_table(ConvertArguments& arguments) {
  OptionTable table("convert", "Write the weights of a checkpoint as a safetensors file.");
  table.group("Options");
  table.add_text({.name = "weights",
                  .letter = 'w',
                  .value = "IN",
                  .help = "weight file to read; the same as the first argument without a flag",
                  .common = true},
                 arguments.weights);
  table.add_text({.name = "output",
                  .letter = 'o',
                  .value = "OUT.safetensors",
                  .help = "file to write; the same as the second argument",
                  .common = true},
                 arguments.output);
  table.add_choice({.name = "dtype",
                    .value = "TYPE",
                    .help = "type of the floating-point tensors; keep: as stored, bit for bit",
                    .common = true},
                   arguments.dtype, {"keep", "fp32", "fp16", "bf16"});
  table.add_text({.name = "weights-key",
                  .value = "KEY",
                  .help = "dictionary inside the checkpoint, such as model or state_dict_ema",
                  .standard = "EMA weights first",
                  .common = true},
                 arguments.weights_key);
  table.add_switch({.name = "overwrite", .help = "replace an existing output", .common = true},
                   arguments.overwrite);
  table.positional({"weights", "output"});
  add_general_options(table, arguments.general, false);
  return table;
}

}  // namespace

int convert_command(const std::vector<std::string>& arguments) {
  ConvertArguments parsed;
  OptionTable table = convert_table(parsed);
  if (start(table, parsed.general, arguments)) return 0;
  TTT_CHECK(!parsed.weights.empty(), usage, "no weight file is given", "ttt convert",
            "give both names: `ttt convert IN OUT.safetensors`");
  TTT_CHECK(!parsed.output.empty(), usage, "no output is given", "ttt convert",
            "give both names: `ttt convert IN OUT.safetensors`");
  run_convert({.input = parsed.weights,
               .output = parsed.output,
               .dtype = parse_convert_dtype(parsed.dtype),
               .weights_key = parsed.weights_key,
               .overwrite = parsed.overwrite});
  return 0;
}

nlohmann::ordered_json describe_convert() {
  ConvertArguments arguments;
  return describe_table(convert_table(arguments));
}

}  // namespace ttt::cli
