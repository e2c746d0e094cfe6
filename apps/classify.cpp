// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/classify.h"

#include "apps/classify/options.h"
#include "apps/classify/run.h"
#include "apps/classify/serve.h"
#include "apps/common/help.h"
#include "core/cancel.h"
#include "core/error.h"

#include <spdlog/fmt/fmt.h>

namespace ttt::cli {
namespace {

void forbid(bool both, const std::string& first, const std::string& second,
            const std::string& hint) {
  TTT_CHECK(!both, usage, fmt::format("{} and {} exclude each other", first, second),
            "ttt classify", hint);
}

/// Combinations that the option table can't express.
void check_options(const ClassifyOptions& options) {
  forbid(options.overwrite && options.resume, "--overwrite", "--resume",
         "--resume goes on with the earlier result, --overwrite starts anew");
  TTT_CHECK(!options.resume || !to_stream(options.output), usage, "--resume needs a result file",
            "--resume", "name the result of the interrupted run with --output");
  forbid(options.resume && !options.features.empty(), "--resume", "--features",
         "run again with --overwrite to get the features of all pictures");
  forbid(options.resume && !options.sheet.empty(), "--resume", "--sheet",
         "run again with --overwrite to get a sheet of all pictures");
  if (!options.stdin_jsonl) return;
  const bool has_inputs = !options.input.empty() || !options.list.empty() ||
                          options.split != "auto" || !options.shard.empty();
  forbid(has_inputs, "--stdin-jsonl", "other inputs", "send the paths as requests");
  forbid(!options.features.empty(), "--stdin-jsonl", "--features", "leave out --features");
  forbid(!options.sheet.empty(), "--stdin-jsonl", "--sheet", "leave out --sheet");
  TTT_CHECK(options.format == "auto" || options.format == "jsonl", usage,
            "--stdin-jsonl answers in JSON lines", "--format " + options.format,
            "leave out --format");
  TTT_CHECK(to_stream(options.output), usage, "--stdin-jsonl answers on standard output",
            "--output", "leave out --output");
}

}  // namespace

int classify_command(const std::vector<std::string>& arguments) {
  ClassifyOptions options;
  OptionTable table = classify_table(options);
  if (start(table, options.general, arguments)) return 0;
  check_options(options);
  const ResultFormat format = choose_format(options.format, options.output);
  install_cancel_signal_handler();
  if (options.stdin_jsonl) return serve(set_up(options, true), options);
  return ClassifyRun(table, options, format).run();
}

nlohmann::ordered_json describe_classify() {
  ClassifyOptions options;
  return describe_table(classify_table(options));
}

}  // namespace ttt::cli
