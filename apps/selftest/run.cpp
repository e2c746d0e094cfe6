// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/selftest/run.h"

#include "apps/common/run_record.h"
#include "apps/common/shared_options.h"
#include "apps/common/small_sink.h"
#include "apps/common/text.h"
#include "apps/selftest/rows.h"
#include "core/cancel.h"
#include "core/error.h"
#include "core/log.h"

#include <ATen/Parallel.h>

#include <chrono>
#include <optional>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// Nothing when the run is to stop.
std::optional<std::vector<ops::CheckResult>> results_of(const Check& check, bool full) {
  if (cancel_requested()) return std::nullopt;
  log_debug("checking {} in {}", check.name, type_name(check.dtype));
  try {
    return run_check(check, full);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
    return std::nullopt;
  }
}

/// What the numbers depend on.
Json describe(const SelftestPlan& plan, const SelftestOptions& options) {
  Json isas = Json::array();
  for (const ops::CpuIsa isa : ops::kCpuIsas)
    if (isa <= ops::best_cpu_isa()) isas.push_back(ops::to_string(isa));
  return {{"device", plan.device.device.str()},    {"device_reason", plan.device.reason},
          {"isa", ops::to_string(ops::cpu_isa())}, {"isas", isas},
          {"threads", at::get_num_threads()},      {"full", options.full}};
}

Json summary_of(const SelftestPlan& plan, const SelftestOptions& options,
                const SelftestTally& tally, Clock::time_point start) {
  const std::size_t total = plan.comparisons();
  Json result{{"schema", kSchema}, {"status", "summary"}, {"command", "selftest"}};
  result["passed"] = tally.failed() == 0 && tally.done() == total;
  result["counts"] = {{"total", total},
                      {"ok", tally.done() - tally.failed()},
                      {"failed", tally.failed()},
                      {"not_done", total - tally.done()}};
  result["failed"] = tally.culprits();
  result["interrupted"] = tally.done() < total;
  const std::chrono::duration<double, std::milli> elapsed = Clock::now() - start;
  result["total_time_ms"] = significant(elapsed.count(), 6);
  result.update(describe_build());
  result.update(describe(plan, options));
  return result;
}

void run_checks(const SelftestPlan& plan, const SelftestOptions& options, ResultSink& sink,
                SelftestTally& tally) {
  ProgressDisplay display(progress_settings(options.general));
  Progress progress("selftest", static_cast<std::int64_t>(plan.comparisons()), display.callback());
  for (const Check& check : plan.checks) {
    const auto results = results_of(check, options.full);
    if (!results) return;
    for (std::size_t i = 0; i < results->size(); ++i) {
      tally.add(check, check.variants[i], (*results)[i]);
      sink.row(comparison_row(check, check.variants[i], (*results)[i]));
    }
    progress.advance(static_cast<std::int64_t>(results->size()));
  }
}

}  // namespace

void run_selftest(const OptionTable& table, const SelftestOptions& options) {
  const Clock::time_point start = Clock::now();
  const ResultFormat format = choose_format(options.format, options.output);
  const bool to_file = check_small_output(options.output, options.overwrite);
  configure_torch(options.threads, /*tf32=*/false);
  const SelftestPlan plan = make_plan(options);
  log_info("self-test: {} comparisons with the reference, {} threads", plan.comparisons(),
           at::get_num_threads());
  Json record = begin_run_record(table);
  const std::unique_ptr<ResultSink> sink =
      make_small_sink(options.output, make_selftest_renderer(format, plan));
  SelftestTally tally;
  run_checks(plan, options, *sink, tally);
  for (const UnavailableVariant& unavailable : plan.unavailable)
    sink->row(unavailable_row(unavailable));
  const Json summary = summary_of(plan, options, tally, start);
  sink->finish(summary, true);
  const bool interrupted = summary["interrupted"].get<bool>();
  if (to_file) {
    record.update(describe(plan, options));
    record["counts"] = summary["counts"];
    finish_run_record(record, options.output, interrupted ? "interrupted" : "complete");
  }
  tally.throw_failure();
  TTT_CHECK(!interrupted, interrupted,
            fmt::format("interrupted, {} of {} checks not done", plan.comparisons() - tally.done(),
                        plan.comparisons()),
            options.output, "run it again");
}

}  // namespace ttt::cli
