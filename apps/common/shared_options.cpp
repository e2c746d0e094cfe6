// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/shared_options.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

namespace ttt::cli {

void add_allowed_tensors(OptionTable& table, std::vector<std::string>& missing,
                         std::vector<std::string>& unexpected) {
  table.add_list({.name = "allow-missing",
                  .value = "PATTERN",
                  .help = "accept that these tensors are absent (* and ? are wildcards)"},
                 missing);
  table.add_list({.name = "allow-unexpected",
                  .value = "PATTERN",
                  .help = "accept these tensors that the model doesn't have"},
                 unexpected);
}

void add_device(OptionTable& table, std::string& device) {
  table.add_text(
      {.name = "device", .value = "DEVICE", .help = "auto, cpu, cuda or cuda:N", .common = true},
      device);
}

void add_backend(OptionTable& table, std::string& backend) {
  table.add_choice(
      {.name = "backend", .value = "BACKEND", .help = "implementation of our own operations"},
      backend, {"auto", "reference", "cpu", "cuda"});
}

void add_tf32(OptionTable& table, bool& tf32) {
  table.add_switch({.name = "tf32", .help = "allow TF32 in fp32 matrix products on GPUs"}, tf32);
}

void add_cuda_graph(OptionTable& table, std::string& cuda_graph) {
  table.add_choice({.name = "cuda-graph",
                    .value = "WHEN",
                    .help = "record the forward pass as a CUDA graph once a shape of batches has "
                            "come twice: auto launches plainly where there is no GPU or that "
                            "fails, on makes it an error"},
                   cuda_graph, {"auto", "on", "off"});
}

void add_threads(OptionTable& table, std::optional<std::int64_t>& threads) {
  table.add_integer({.name = "threads",
                     .letter = 't',
                     .value = "N",
                     .help = "threads for the model",
                     .standard = "one per core",
                     .common = true},
                    threads, {1, 1024});
}

void add_result_file(OptionTable& table, std::string& format, std::string& output,
                     bool& overwrite) {
  table.add_choice({.name = "format",
                    .value = "FORMAT",
                    .help = "form of the results",
                    .standard = "told from the suffix of --output, else table",
                    .common = true},
                   format, {"auto", "table", "jsonl", "json", "csv"});
  table.add_text({.name = "output",
                  .letter = 'o',
                  .value = "FILE",
                  .help = "write the results to a file, with a run record beside it",
                  .standard = "standard output",
                  .common = true},
                 output);
  table.add_switch({.name = "overwrite", .help = "replace existing outputs"}, overwrite);
}

void configure_torch(const std::optional<std::int64_t>& threads, bool tf32) {
  if (threads) at::set_num_threads(static_cast<int>(*threads));
  at::globalContext().setAllowTF32CuBLAS(tf32);
  at::globalContext().setAllowTF32CuDNN(tf32);
}

}  // namespace ttt::cli
