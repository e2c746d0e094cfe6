// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/apps/run_program.h"
#include "tests/support/paths.h"

namespace ttt::test {

/// A folder with small pictures of three classes in `data`, and calls that train on them for a
/// moment.
class TrainingFolder {
 public:
  TrainingFolder();
  /// `ttt train` with a tiny model; the run goes to `run`. Later arguments count.
  std::vector<std::string> call(const std::string& run, std::vector<std::string> more = {}) const;
  /// The same with the pictures of another folder in place of `data`.
  std::vector<std::string> call_with_data(const std::string& data, const std::string& run,
                                          const std::vector<std::string>& more) const;
  /// Runs that, expects success, and returns the bytes of the last checkpoint's model.
  std::string weights(const std::string& run, const std::vector<std::string>& more = {}) const;
  std::string path(const std::string& name) const { return folder_ / name; }

 private:
  TempDir folder_;
};

/// Bytes of a run's newest checkpoint of the model; empty without one.
std::string newest_weights(const std::string& run);

/// Starts `ttt` and kills it, without warning, as soon as the file `stop` is there; prints its exit
/// status.
ProgramResult run_and_kill(const std::string& stop, const std::vector<std::string>& arguments);

}  // namespace ttt::test
