// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/options.h"

#include "apps/common/shared_options.h"

namespace ttt::cli {
namespace {

void add_subjects(OptionTable& table, BenchOptions& options) {
  table.group("Subjects");
  table.add_list({.name = "op",
                  .value = "NAME",
                  .help = "measure this operation; `ttt list ops` shows them",
                  .standard = "all, unless --model or --weights is given",
                  .common = true},
                 options.op);
  table.add_list({.name = "case",
                  .value = "PATTERN",
                  .help = "only calls with such a name (* and ? are wildcards): of operations, and "
                          "reconstruct or render of LaCT-LVSM models",
                  .standard = "the sizes of real models"},
                 options.case_patterns);
  table.add_list({.name = "model",
                  .letter = 'm',
                  .value = "NAME",
                  .help = "measure this model, for pictures or for novel views; `ttt list models` "
                          "shows them",
                  .standard = "vit3_t, unless --op or --weights is given",
                  .common = true},
                 options.model);
  table.add_text({.name = "weights",
                  .letter = 'w',
                  .value = "FILE",
                  .help = "measure the model that this file holds",
                  .standard = "random weights, which are as fast",
                  .common = true},
                 options.weights);
  table.add_choice({.name = "pass",
                    .value = "PASS",
                    .help = "forward pass, or training: with gradients, and for models the "
                            "optimizer's step",
                    .common = true},
                   options.pass, {"forward", "training", "both"});
}

void add_sweeps(OptionTable& table, BenchOptions& options) {
  table.group("Sweeps (each can be given several times)");
  table.add_list({.name = "size",
                  .value = "WxH",
                  .help = "size of the model's pictures",
                  .unit = "pixels",
                  .standard = "the model's own, 256x256 for novel views",
                  .common = true},
                 options.size);
  table.add_list({.name = "batch",
                  .letter = 'b',
                  .value = "N",
                  .help = "pictures per pass of a model; views, of a model of novel views",
                  .standard = "1",
                  .common = true},
                 options.batch);
  table.add_list({.name = "dtype",
                  .value = "TYPE",
                  .help = "type to compute in: fp32, bf16 or fp16",
                  .standard = "fp32",
                  .common = true},
                 options.dtype);
  table.add_list({.name = "backend",
                  .value = "BACKEND",
                  .help = "implementation of our own operations: auto, reference, cpu or cuda",
                  .standard = "auto",
                  .common = true},
                 options.backend);
  table.add_list({.name = "threads",
                  .letter = 't',
                  .value = "N",
                  .help = "threads to compute with",
                  .standard = "one per core",
                  .common = true},
                 options.threads);
}

void add_measuring(OptionTable& table, BenchOptions& options) {
  table.group("Measuring");
  add_device(table, options.device);
  add_cuda_graph(table, options.cuda_graph);
  table.add_integer({.name = "warm-up",
                     .value = "N",
                     .help = "passes before the first sample, at least the three in which a GPU's "
                             "graph is recorded; 0: the first pass is a sample"},
                    options.warm_up, {0, 100000});
  table.add_integer({.name = "repetitions",
                     .letter = 'r',
                     .value = "N",
                     .help = "samples; one has several passes where a pass is short",
                     .common = true},
                    options.repetitions, {1, 1000000});
}

void add_comparing(OptionTable& table, BenchOptions& options) {
  table.group("Comparing");
  table.add_list({.name = "compare",
                  .value = "A B",
                  .help = "measure nothing, but compare two result files (json or jsonl)",
                  .common = true},
                 options.compare);
  table.add_number({.name = "threshold",
                    .value = "X",
                    .help = "with --compare: how much longer B may take, as a part of A's time; "
                            "beyond it the exit code is 8",
                    .common = true},
                   options.threshold, {0, 1000});
  table.positional({"compare"});
}

}  // namespace

OptionTable bench_table(BenchOptions& options) {
  OptionTable table("bench",
                    "Measure operations and models on this machine, or compare two such results.");
  add_subjects(table, options);
  add_sweeps(table, options);
  add_measuring(table, options);
  add_comparing(table, options);
  table.group("Results");
  add_result_file(table, options.format, options.output, options.overwrite);
  add_general_options(table, options.general, true);
  table.note(
      "The roofline is the rate of the fastest matrix product that LibTorch offers in that type, "
      "with as many threads, measured before and after each subject: \"of roofline\" says which "
      "part of it the subject's own operations reach. Memory is the peak above what the loaded "
      "model or the operation's inputs hold; gradients and what the optimizer keeps count.");
  table.note(
      "Rows (jsonl): schema, kind (op or model), name, case, pass, backend, isa, device, dtype, "
      "threads, batch, width, height, status (ok or error), error if any, samples, "
      "passes_per_sample, time_ms (median), q1_ms, q3_ms, min_ms, max_ms, gflops, "
      "roofline_gflops, roofline_share, gbytes_per_s, images_per_s, memory_mib, peak_memory_mib. "
      "What does not apply is null. The last line has status summary.");
  table.note(
      "Rows of --compare: kind to height as above, status (same, faster, slower, or only in one "
      "file: missing, new), a_ms, b_ms, ratio (time in B over time in A). Shorter or longer by "
      "less than the threshold is \"same\".");
  return table;
}

}  // namespace ttt::cli
