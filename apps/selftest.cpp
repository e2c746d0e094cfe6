// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/selftest.h"

#include "apps/common/help.h"
#include "apps/selftest/options.h"
#include "apps/selftest/run.h"
#include "core/cancel.h"

namespace ttt::cli {

int selftest_command(const std::vector<std::string>& arguments) {
  SelftestOptions options;
  OptionTable table = selftest_table(options);
  if (start(table, options.general, arguments)) return 0;
  install_cancel_signal_handler();
  run_selftest(table, options);
  return 0;
}

nlohmann::ordered_json describe_selftest() {
  SelftestOptions options;
  return describe_table(selftest_table(options));
}

}  // namespace ttt::cli
