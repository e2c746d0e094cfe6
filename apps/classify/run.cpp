// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/classify/run.h"

#include "apps/classify/features.h"
#include "apps/classify/sheet.h"
#include "apps/common/console.h"
#include "apps/common/memory.h"
#include "apps/common/output.h"
#include "apps/common/run_record.h"
#include "apps/common/text.h"
#include "core/log.h"
#include "core/version.h"

#include <spdlog/fmt/fmt.h>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

/// What --dry-run prints.
std::string dry_run_text(const ClassifySetup& setup, const ClassifyOptions& options,
                         std::size_t pictures, ResultFormat format) {
  Json result{{"schema", kSchema}, {"status", "dry-run"}, {"pictures", pictures}};
  result.update(describe(setup, options));
  result["memory_mib"] = mebibytes(memory_need(setup, pictures));
  result["memory_available_mib"] = mebibytes(memory_available());
  if (format == ResultFormat::jsonl) return dump_json(result) + "\n";
  if (format == ResultFormat::json) return dump_json(result, 2) + "\n";
  std::string text;
  const auto add = [&](const std::string& name, const Json& value) {
    text += fmt::format("{:<21} {}\n", name,
                        value.is_string() ? printable(value.get<std::string>()) : dump_json(value));
  };
  for (const auto& [key, value] : result.items()) {
    if (!value.is_object()) {
      add(key, value);
      continue;
    }
    for (const auto& [name, item] : value.items()) add(key + "." + name, item);
  }
  return text;
}

}  // namespace

ClassifyRun::ClassifyRun(const OptionTable& table, const ClassifyOptions& options,
                         ResultFormat format)
    : table_(table), options_(options), format_(format) {}

ClassifyRun::~ClassifyRun() = default;

int ClassifyRun::run() {
  // Everything that can fail without the model comes before it is loaded.
  if (!to_stream(options_.output))
    FileSink::check({options_.output, options_.overwrite, options_.resume});
  if (!options_.features.empty())
    features_ = std::make_unique<FeatureFile>(options_.features, options_.overwrite);
  if (!options_.sheet.empty())
    contact_sheet_ =
        std::make_unique<SheetFile>(options_.sheet, options_.overwrite, decode_mode(options_));
  ProgressDisplay progress(progress_settings(options_.general));
  inputs_ = gather_inputs(options_);
  setup_.emplace(set_up(
      options_, options_.dry_run || format_ != ResultFormat::table || !to_stdout(options_.output)));
  if (options_.dry_run) {
    write_stdout(dry_run_text(*setup_, options_, inputs_.items.size(), format_));
    return 0;
  }
  announce(*setup_, options_, inputs_.items.size());
  check_memory(*setup_, inputs_.items.size());
  const std::int64_t classes = setup_->classifier.spec().classes();
  targets_ = match_targets(inputs_, setup_->labels, classes);
  rows_ = {.labels = setup_->labels,
           .classes = classes,
           .top_k = options_.top_k,
           .logits = options_.logits,
           .labelled = !targets_.empty(),
           .inner_report = options_.inner_report};
  tally_.emplace(static_cast<std::int64_t>(inputs_.items.size()), rows_);
  open_outputs();
  setup_->job.progress = progress.callback();
  const vision::JobEnd end = classify();
  finish(end);
  return 0;
}

Json ClassifyRun::identity() const {
  Json result = describe(*setup_, options_);
  // These change speed, or the last bits at most; a cluster may mix them.
  for (const char* key : {"weights", "device", "device_reason", "backend", "deterministic",
                          "threads", "batch", "workers", "cuda_graph"})
    result.erase(key);
  if (!options_.random_weights) result.erase("seed");
  result["preprocess"].erase("origin");
  result["top_k"] = options_.top_k;
  result["labels"] = utf8_text(options_.labels);
  result["logits"] = options_.logits;
  result["inner_report"] = options_.inner_report;
  result["shard"] = options_.shard;
  result["labelled"] = rows_.labelled;
  return result;
}

void ClassifyRun::open_outputs() {
  auto renderer = make_classify_renderer(format_, rows_);
  if (to_stream(options_.output)) {
    sink_ = make_stream_sink(options_.output, std::move(renderer));
    return;
  }
  record_ = begin_run_record(table_);
  record_.update(describe(*setup_, options_));
  record_["identity"] = identity();
  if (options_.resume && FileSink::has_earlier(options_.output))
    check_same_run(read_run_record(options_.output), record_, options_.output);
  auto sink = std::make_unique<FileSink>(
      FileSink::Settings{options_.output, options_.overwrite, options_.resume},
      std::move(renderer));
  if (options_.resume) skip_finished(*sink);
  finish_run_record(record_, options_.output, "running");
  sink_ = std::move(sink);
}

void ClassifyRun::skip_finished(FileSink& sink) {
  std::map<std::string, int> finished = sink.finished();
  if (finished.empty()) return;
  std::vector<std::string> order;
  std::vector<InputItem> items;
  std::vector<std::optional<Target>> targets;
  for (std::size_t i = 0; i < inputs_.items.size(); ++i) {
    order.push_back(inputs_.items[i].name);
    if (const auto found = finished.find(inputs_.items[i].name); found != finished.end()) {
      if (--found->second == 0) finished.erase(found);
      continue;
    }
    items.push_back(std::move(inputs_.items[i]));
    if (!targets_.empty()) targets.push_back(std::move(targets_[i]));
  }
  log_info("resuming: {} of {} pictures are done", order.size() - items.size(), order.size());
  sink.set_order(order);
  sink.visit_finished([this](const Json& row) { tally_->add(row); });
  inputs_.items = std::move(items);
  targets_ = std::move(targets);
}

void ClassifyRun::on_row(vision::ClassifyRow&& row) {
  const std::string& name = inputs_.items[row.item].name;
  const std::optional<Target> target = targets_.empty() ? std::nullopt : targets_[row.item];
  Json json = make_row(row, name, target, rows_);
  if (row.error) {
    last_error_ = row.error;
    // In a table the reader sees it in its place.
    if (format_ != ResultFormat::table || !to_stdout(options_.output))
      log_warning("{}", row.error->what());
  } else {
    if (rows_.inner_report) json["inner"] = inner_json(inner_);
    if (features_) features_->add(name, row.features);
  }
  inner_.clear();
  if (contact_sheet_) contact_sheet_->add(inputs_.items[row.item], row, target, rows_.labels);
  tally_->add(json);
  sink_->row(json);
}

vision::JobEnd ClassifyRun::classify() {
  if (options_.inner_report) setup_->job.context.reports = &inner_;
  return vision::classify(setup_->classifier, inputs_.items, setup_->job,
                          [this](vision::ClassifyRow&& row) { on_row(std::move(row)); });
}

Json ClassifyRun::summary(vision::JobEnd end) const {
  const BuildInfo& build = build_info();
  Json result{{"schema", kSchema}, {"status", "summary"}, {"command", "classify"}};
  tally_->put_into(result);
  result["interrupted"] = end == vision::JobEnd::interrupted;
  const std::chrono::duration<double, std::milli> elapsed = Clock::now() - start_;
  result["total_time_ms"] = significant(elapsed.count(), 6);
  result["version"] = build.version;
  result["commit"] = build.commit;
  result.update(describe(*setup_, options_));
  return result;
}

void ClassifyRun::finish(vision::JobEnd end) {
  const Json result = summary(end);
  // The summary ends a result, so other files come first: if they fail, the run can be resumed.
  if (features_) features_->write();
  if (contact_sheet_) contact_sheet_->write();
  sink_->finish(result, end == vision::JobEnd::complete);
  const Json& counts = result["counts"];
  if (!to_stream(options_.output)) {
    record_["counts"] = counts;
    finish_run_record(record_, options_.output,
                      end == vision::JobEnd::complete ? "complete" : "interrupted");
  }
  const auto total = counts["total"].get<std::int64_t>();
  const auto failed = counts["failed"].get<std::int64_t>();
  const auto left = counts["not_done"].get<std::int64_t>();
  Console::instance().print_repetitions();
  if (end == vision::JobEnd::interrupted)
    throw Error(ErrorKind::interrupted,
                fmt::format("interrupted, {} of {} pictures not done", left, total),
                options_.output,
                to_stream(options_.output) ? "with --output FILE a run can be resumed"
                                           : "give --resume to do the rest");
  if (failed == 0) return;
  if (total == 1)
    throw Error(last_error_->kind() == ErrorKind::memory ? ErrorKind::memory : ErrorKind::input,
                last_error_->message(), last_error_->where(),
                last_error_->hint().empty() ? "choose another picture" : last_error_->hint());
  throw Error(ErrorKind::input,
              fmt::format("{} of {} pictures failed{}", failed, total,
                          left > 0 ? fmt::format(", {} not done", left) : ""),
              options_.output, "the rows with status error say why; the others are valid");
}

}  // namespace ttt::cli
