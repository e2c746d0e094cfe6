// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/console.h"
#include "apps/common/output.h"
#include "apps/common/report_error.h"
#include "apps/program.h"
#include "core/tensor_pool.h"

int main(int argc, char** argv) {
  using namespace ttt::cli;
  try {
    prepare_process();
    ttt::use_tensor_pool();
    Console::instance().attach_to_log();
    const int code = run_program({argv + (argc > 0 ? 1 : 0), argv + argc});
    Console::instance().print_repetitions();
    return code;
  } catch (...) {
    return report_error(std::current_exception());
  }
}
