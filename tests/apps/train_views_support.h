// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/apps/effects.h"
#include "tests/apps/run_program.h"
#include "tests/support/paths.h"

namespace ttt::test {

/// An architecture in the official schema: one block, patch 8.
std::string novel_view_architecture(int dim);

/// Calls of `ttt train` that train a tiny model of novel views for a moment, on made-up scenes.
class NovelViewFolder {
 public:
  NovelViewFolder();
  /// 3 steps of 2 scenes with 3 input and 2 target views of 16x16 pixels; the run goes to `run`.
  /// Later arguments count.
  std::vector<std::string> call(const std::string& run, std::vector<std::string> more = {}) const;
  /// The same on other data.
  std::vector<std::string> call_with_data(const std::string& data, const std::string& run,
                                          const std::vector<std::string>& more) const;
  /// Runs that, expects success, and returns the bytes of the last checkpoint's model.
  std::string weights(const std::string& run, const std::vector<std::string>& more = {}) const;
  std::string path(const std::string& name) const { return folder_ / name; }
  /// A data set with 12 views of one scene; written when first asked for.
  std::string scene() const;

 private:
  TempDir folder_;
};

/// Effects of the flags that only novel views have, or that are shown with them.
std::map<std::string, Effect> train_views_effects();

}  // namespace ttt::test
