// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/apps/run_program.h"
#include "tests/support/paths.h"

#include <chrono>
#include <string>
#include <sys/types.h>

namespace ttt::test {

/// A program that runs beside the test; killed when it goes out of scope.
class RunningProgram {
 public:
  /// arguments[0] is the program's path. `signal_after_lines` is not looked at.
  explicit RunningProgram(const ProgramCall& call);
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  /// Waits until so many lines stand in a file, by default standard output; false when the program
  /// ends first.
  bool wait_for_lines(int count, const std::string& file = {});
  void signal(int number);
  /// Waits for the end. Fails the test after two minutes.
  ProgramResult wait();
  /// Standard output so far.
  std::string out() const;

 private:
  bool ended();
  bool too_long();

  TempDir folder_;
  ProgramCall call_;
  std::string out_path_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  pid_t child_ = 0;  ///< 0: it has ended
  int code_ = -1;
};

}  // namespace ttt::test
