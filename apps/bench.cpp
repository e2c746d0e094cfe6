// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench.h"

#include "apps/bench/compare.h"
#include "apps/bench/options.h"
#include "apps/bench/run.h"
#include "apps/common/help.h"
#include "core/cancel.h"

namespace ttt::cli {

int bench_command(const std::vector<std::string>& arguments) {
  BenchOptions options;
  OptionTable table = bench_table(options);
  if (start(table, options.general, arguments)) return 0;
  install_cancel_signal_handler();
  if (options.compare.empty()) {
    run_bench(table, options);
  } else {
    run_comparison(table, options);
  }
  return 0;
}

nlohmann::ordered_json describe_bench() {
  BenchOptions options;
  return describe_table(bench_table(options));
}

}  // namespace ttt::cli
