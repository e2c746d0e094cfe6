// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/train.h"

#include "apps/common/help.h"
#include "apps/common/output.h"
#include "apps/common/run_record.h"
#include "apps/common/text.h"
#include "apps/train/novel_views.h"
#include "apps/train/setup.h"
#include "core/cancel.h"
#include "core/error.h"
#include "core/log.h"

#include <filesystem>
#include <set>
#include <string_view>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

void check_options(const TrainOptions& options) {
  TTT_CHECK(!options.overwrite || !options.resume, usage,
            "--overwrite and --resume exclude each other", "ttt train",
            "--resume goes on with the earlier run, --overwrite starts anew");
  TTT_CHECK(!options.evaluate || !options.weights.empty(), usage, "no weights to measure",
            "--evaluate", "name a checkpoint with --weights FILE");
  const bool trains = options.preview.empty() && options.export_scenes.empty() &&
                      !options.overfit_one_batch && !options.evaluate && !options.dry_run;
  std::error_code ignored;
  const bool holds_run = fs::exists(fs::path(options.output) / "log.jsonl", ignored);
  TTT_CHECK(!trains || !holds_run || options.resume || options.overwrite, output,
            "the folder already holds a run", printable(options.output),
            "go on with --resume, start anew with --overwrite, or choose another --output");
}

/// Options of the other family would be without effect.
void check_family(const TrainOptions& options, const OptionTable& table) {
  const bool views = trains_novel_views(options);
  const auto belongs_to_pictures = [](const Option& option) {
    static const std::set<std::string_view> kNames{"split",    "decode", "cache", "dims",
                                                   "depths",   "heads",  "patch", "mesa",
                                                   "crop-pct", "mean",   "std",   "mesa-start"};
    return option.group == "Inner training" || option.group == "Augmentation" ||
           kNames.contains(option.text.name);
  };
  for (const Option& option : table.options()) {
    const bool foreign = views ? belongs_to_pictures(option) : option.group == "Novel views";
    TTT_CHECK(
        !foreign || option.origin == "default", usage,
        views ? "the option is for classifiers" : "the option is for novel views",
        "--" + option.text.name,
        views ? "leave it out, or choose another --model" : "add --model lvsm, or leave it out");
  }
}

Json to_json(const training::Metrics& metrics) {
  Json result = Json::object();
  for (const auto& [name, value] : metrics) result[name] = value;
  return result;
}

Json summary_of(const training::TrainingSummary& summary, std::int64_t unreadable) {
  Json result{{"schema", kSchema},
              {"status", "summary"},
              {"steps", summary.steps},
              {"skipped_steps", summary.skipped_steps},
              {"unreadable", unreadable},
              {"evaluation", to_json(summary.evaluation)},
              {"average_evaluation", to_json(summary.average_evaluation)}};
  if (summary.last_loss) result["loss"] = *summary.last_loss;
  put_name(result, "checkpoint", summary.checkpoint.string());
  return result;
}

void print_summary(const Json& summary, const std::string& format) {
  if (format == "json") return write_stdout(dump_json(summary) + "\n");
  std::string text;
  for (const auto& [key, value] : summary.items()) {
    if (key == "schema" || key == "status") continue;
    if (value.is_object()) {
      for (const auto& [name, number] : value.items())
        text += fmt::format("{:<32}{}\n", key + " " + name, number.dump());
    } else {
      text += fmt::format("{:<32}{}\n", key,
                          value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  write_stdout(text);
}

int overfit(TrainSetup& setup, const TrainOptions& options, const ProgressCallback& progress) {
  const training::OverfitResult result =
      training::overfit_one_batch(*setup.task, setup.trainer, options.overfit_steps, progress);
  print_summary({{"schema", kSchema},
                 {"status", "summary"},
                 {"steps", result.steps},
                 {"first_loss", result.first_loss},
                 {"last_loss", result.last_loss}},
                options.format);
  return 0;
}

int evaluate(TrainSetup& setup, const TrainOptions& options, const ProgressCallback& progress) {
  const training::Metrics metrics = setup.task->evaluate(false, progress);
  TTT_CHECK(!metrics.empty(), usage, "there is nothing to measure on", "--evaluate",
            "name pictures or scenes by --validation");
  print_summary({{"schema", kSchema}, {"status", "summary"}, {"evaluation", to_json(metrics)}},
                options.format);
  return 0;
}

int run_training(TrainSetup& setup, const TrainOptions& options, const OptionTable& table,
                 const ProgressCallback& progress) {
  const std::string record_of = (fs::path(options.output) / "train").string();
  Json record = begin_run_record(table);
  record["seed"] = setup.trainer.seed;
  record["model"] = setup.model;
  const bool first = !setup.trainer.processes || setup.trainer.processes->is_first();
  try {
    const training::TrainingSummary summary = training::train(*setup.task, setup.trainer, progress);
    const Json row = summary_of(summary, setup.unreadable());
    record["result"] = row;
    if (first) finish_run_record(record, record_of, "complete");
    if (first) print_summary(row, options.format);
  } catch (const Error& error) {
    if (first && error.kind() == ErrorKind::interrupted)
      finish_run_record(record, record_of, "interrupted");
    throw;
  }
  if (setup.unreadable() == 0) return 0;
  log_warning("{} times a picture could not be read", setup.unreadable());
  return exit_code(ErrorKind::input);
}

}  // namespace

int train_command(const std::vector<std::string>& arguments) {
  TrainOptions options;
  OptionTable table = train_table(options);
  if (start(table, options.general, arguments)) return 0;
  check_options(options);
  check_family(options, table);
  install_cancel_signal_handler();
  if (!options.export_scenes.empty()) {
    export_validation_scenes(options);
    return 0;
  }
  TrainSetup setup = set_up_training(options);
  announce(setup, options);
  if (!options.preview.empty()) {
    setup.write_preview(options.preview);
    return 0;
  }
  if (!options.evaluate) check_memory(setup, options);
  if (options.dry_run) return 0;
  ProgressDisplay display(progress_settings(options.general));
  if (options.evaluate) return evaluate(setup, options, display.callback());
  if (options.overfit_one_batch) return overfit(setup, options, display.callback());
  return run_training(setup, options, table, display.callback());
}

Json describe_train() {
  TrainOptions options;
  return describe_table(train_table(options));
}

}  // namespace ttt::cli
