// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/run.h"

#include "apps/bench/roofline.h"
#include "apps/bench/rows.h"
#include "apps/bench/workload.h"
#include "apps/common/memory.h"
#include "apps/common/run_record.h"
#include "apps/common/shared_options.h"
#include "apps/common/small_sink.h"
#include "apps/common/text.h"
#include "core/cancel.h"
#include "core/error.h"
#include "core/log.h"
#include "kernels/support/cpu_isa.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

class BenchRun {
 public:
  BenchRun(const BenchOptions& options, BenchPlan plan)
      : options_(options), plan_(std::move(plan)), workshop_(plan_) {}

  void measure_all(ResultSink& sink);
  Json summary(Clock::time_point start) const;
  /// What the numbers depend on.
  Json describe() const;
  /// Throws when something failed or the user interrupted.
  void throw_failure() const;

 private:
  Measurement measure_one(const Subject& subject);
  Roofline& roofline_of(const Subject& subject);
  std::size_t not_done() const { return plan_.subjects.size() - done_ - failed_; }

  const BenchOptions& options_;
  BenchPlan plan_;
  Workshop workshop_;
  std::map<std::pair<at::ScalarType, int>, Roofline> rooflines_;
  std::map<std::pair<at::ScalarType, int>, double> best_rooflines_;
  std::size_t done_ = 0, failed_ = 0;
  std::optional<Error> first_error_;
};

/// One error type for all that can go wrong with a subject.
Error as_error(const std::string& where) {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {ErrorKind::memory, "not enough memory", where, "use a smaller --batch or --size"};
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    const bool memory = text.find("memory") != std::string::npos;
    return {memory ? ErrorKind::memory : ErrorKind::internal,
            printable(text.substr(0, text.find('\n'))), where,
            memory ? "use a smaller --batch or --size" : "please report this"};
  } catch (const std::exception& error) {
    return {ErrorKind::internal, printable(error.what()), where, "please report this"};
  }
}

Roofline& BenchRun::roofline_of(const Subject& subject) {
  const auto key = std::pair(subject.dtype, subject.threads);
  const auto found = rooflines_.find(key);
  if (found != rooflines_.end()) return found->second;
  return rooflines_.emplace(key, Roofline(plan_.device.device, subject.dtype)).first->second;
}

Measurement BenchRun::measure_one(const Subject& subject) {
  at::set_num_threads(subject.threads);
  const Workload workload = workshop_.make(subject);
  Measurement result;
  result.operations = workload.operations;
  result.bytes = workload.bytes;
  Roofline* roofline = workload.operations > 0 ? &roofline_of(subject) : nullptr;
  if (roofline != nullptr) {
    roofline->forget();
    roofline->sample();
  }
  const PeakMemory memory;
  result.samples =
      measure(workload.pass, {options_.warm_up, options_.repetitions, workload.first_passes});
  result.memory = memory.above_start();
  result.peak_memory = memory.peak();
  if (roofline != nullptr) {
    roofline->sample();
    result.roofline_gflops = roofline->gflops();
    double& best = best_rooflines_[{subject.dtype, subject.threads}];
    best = std::max(best, result.roofline_gflops);
  }
  return result;
}

void BenchRun::measure_all(ResultSink& sink) {
  ProgressDisplay display(progress_settings(options_.general));
  Progress progress("bench", static_cast<std::int64_t>(plan_.subjects.size()), display.callback());
  const c10::Device device = plan_.device.device;
  for (const Subject& subject : plan_.subjects) {
    if (cancel_requested()) return;
    try {
      const Measurement measurement = measure_one(subject);
      // Fewer samples than asked for would look like a full measurement.
      if (cancel_requested()) return;
      sink.row(measurement_row(subject, device, measurement));
      ++done_;
    } catch (const std::exception&) {
      const Error error = as_error(subject.name);
      if (error.kind() == ErrorKind::interrupted) return;  // not done, which is no failure
      sink.row(failure_row(subject, device, error.what()));
      ++failed_;
      if (!first_error_) first_error_ = error;
    }
    progress.advance();
  }
}

Json BenchRun::describe() const {
  return {{"device", plan_.device.device.str()}, {"device_reason", plan_.device.reason},
          {"cuda_graph", options_.cuda_graph},   {"isa", ops::to_string(ops::cpu_isa())},
          {"warm_up", options_.warm_up},         {"repetitions", options_.repetitions}};
}

Json BenchRun::summary(Clock::time_point start) const {
  Json result{{"schema", kSchema}, {"status", "summary"}, {"command", "bench"}};
  result["counts"] = {{"total", plan_.subjects.size()},
                      {"ok", done_},
                      {"failed", failed_},
                      {"not_done", not_done()}};
  result["interrupted"] = not_done() > 0;
  result["rooflines"] = Json::array();
  for (const auto& [key, gflops] : best_rooflines_)
    result["rooflines"].push_back({{"dtype", bench_type_name(key.first)},
                                   {"threads", key.second},
                                   {"gflops", significant(gflops, 5)}});
  const std::chrono::duration<double, std::milli> elapsed = Clock::now() - start;
  result["total_time_ms"] = significant(elapsed.count(), 6);
  result.update(describe_build());
  result.update(describe());
  return result;
}

void BenchRun::throw_failure() const {
  if (first_error_) throw *first_error_;
  TTT_CHECK(not_done() == 0, interrupted,
            fmt::format("interrupted, {} of {} not measured", not_done(), plan_.subjects.size()),
            options_.output, "run it again");
}

std::size_t name_width(const BenchPlan& plan) {
  std::size_t width = 0;
  for (const Subject& subject : plan.subjects)
    width = std::max(width, subject_text(failure_row(subject, plan.device.device, "")).size());
  return width;
}

}  // namespace

void run_bench(const OptionTable& table, const BenchOptions& options) {
  const Clock::time_point start = Clock::now();
  TTT_CHECK(table.at("threshold").origin != "command line", usage, "only --compare has a threshold",
            "--threshold", "leave it out");
  const ResultFormat format = choose_format(options.format, options.output);
  const bool to_file = check_small_output(options.output, options.overwrite);
  configure_torch(std::nullopt, /*tf32=*/false);
  BenchPlan plan = make_bench_plan(options);
  log_info("bench: {} measurement{} on {} ({}), {} samples each", plan.subjects.size(),
           plan.subjects.size() == 1 ? "" : "s", plan.device.device.str(), plan.device.reason,
           options.repetitions);
  Json record = begin_run_record(table);
  const std::unique_ptr<ResultSink> sink =
      make_small_sink(options.output, make_bench_renderer(format, name_width(plan)));
  BenchRun run(options, std::move(plan));
  run.measure_all(*sink);
  const Json summary = run.summary(start);
  sink->finish(summary, true);
  if (to_file) {
    record.update(run.describe());
    record["counts"] = summary["counts"];
    finish_run_record(record, options.output,
                      summary["interrupted"].get<bool>() ? "interrupted" : "complete");
  }
  run.throw_failure();
}

}  // namespace ttt::cli
