// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// `ttt selftest` as a program of its own, to be linked with other kernels: broken or emulated ones.
#include "apps/common/console.h"
#include "apps/common/output.h"
#include "apps/common/report_error.h"
#include "apps/selftest.h"

int main(int argc, char** argv) {
  using namespace ttt::cli;
  try {
    prepare_process();
    Console::instance().attach_to_log();
    return selftest_command({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (...) {
    return report_error(std::current_exception());
  }
}
