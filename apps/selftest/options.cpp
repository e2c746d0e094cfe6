// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/selftest/options.h"

#include "apps/common/shared_options.h"
#include "vision/selftest.h"

#include <spdlog/fmt/fmt.h>

namespace ttt::cli {
namespace {

void add_checks(OptionTable& table, SelftestOptions& options) {
  table.group("Checks");
  table.add_list({.name = "op",
                  .value = "NAME",
                  .help = "check this operation; `ttt list ops` shows them",
                  .standard = "all, unless --model is given",
                  .common = true},
                 options.op);
  table.add_list({.name = "model",
                  .letter = 'm',
                  .value = "NAME",
                  .help = "check this model, with random weights",
                  .standard = "the quick ones, unless --op is given",
                  .common = true},
                 options.model);
  table.add_choice({.name = "backend",
                    .value = "BACKEND",
                    .help = "what is compared with the reference; auto: all that there is. The "
                            "reference is compared with its own results in double precision",
                    .common = true},
                   options.backend, {"auto", "reference", "cpu", "cuda"});
  table.add_choice({.name = "dtype", .value = "TYPE", .help = "type to compute in", .common = true},
                   options.dtype, {"all", "fp32", "bf16", "fp16"});
  table.add_switch({.name = "full",
                    .help = "operations at the sizes of real models too, and all models",
                    .common = true},
                   options.full);
}

void add_running(OptionTable& table, SelftestOptions& options) {
  table.group("Running");
  table.add_text({.name = "device",
                  .value = "DEVICE",
                  .help = "GPU of the cuda backend: auto, cpu (none), cuda or cuda:N"},
                 options.device);
  table.add_integer({.name = "threads",
                     .letter = 't',
                     .value = "N",
                     .help = "threads to compute with",
                     .standard = "one per core"},
                    options.threads, {1, 1024});
}

void add_results(OptionTable& table, SelftestOptions& options) {
  table.group("Results");
  add_result_file(table, options.format, options.output, options.overwrite);
}

std::string models_note() {
  std::string quick, others;
  for (const vision::CheckedModel& model : vision::checked_models())
    (model.quick ? quick : others) += fmt::format(" {} ({});", model.name, model.about);
  others.back() = '.';
  return "Models:" + quick + " and with --full" + others;
}

}  // namespace

OptionTable selftest_table(SelftestOptions& options) {
  OptionTable table("selftest",
                    "Compare every fast implementation of this machine with the reference.");
  add_checks(table, options);
  add_running(table, options);
  add_results(table, options);
  add_general_options(table, options.general, true);
  table.note(
      "An error is the largest difference from the reference relative to the largest value. Shown "
      "is the tensor that comes closest to its tolerance. One that is beyond it, not finite or of "
      "another shape, or an operation that fails, gives exit code 8; a backend that is asked for "
      "and not available gives 7.");
  table.note(
      "Rows (jsonl): schema, kind (op, model or backend), name, backend, isa, device, dtype, "
      "status (ok, error or unavailable), error if any, cases, outputs and gradients. These list, "
      "for each type of tensor, type, max_error (null: not finite, or another shape), tolerance "
      "and where. The last line has status summary.");
  table.note(models_note());
  return table;
}

}  // namespace ttt::cli
