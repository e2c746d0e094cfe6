// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/apps/run_program.h"
#include "tests/support/paths.h"

#include <string>
#include <vector>

namespace ttt::test {

/// A folder with a tiny ViT3 (10 classes, patch 8), pictures in several arrangements and lists; and
/// calls of `ttt classify` on them. Paths below are relative to the folder, in which the program
/// runs.
///
///   tiny.safetensors           the model
///   flat/a.bmp … flat/d.bmp    four pictures
///   alpha.png                  half transparent
///   bad.jpg                    text
///   data/{train,test}/{0,1}/…  a labelled data set
class ClassifyBench {
 public:
  using Arguments = std::vector<std::string>;

  ClassifyBench();
  const std::filesystem::path& path() const { return folder_.path(); }
  std::string operator/(const std::string& name) const { return folder_ / name; }

  /// `ttt classify` with these arguments alone.
  ProgramResult run(const Arguments& arguments, const std::string& input = {}) const;
  /// With the tiny model at 32x32, JSON lines, on these inputs and flags; expects the exit code.
  std::vector<nlohmann::json> rows(const Arguments& arguments, int code = 0,
                                   const std::string& input = {}) const;
  /// The first row of rows({"flat/a.bmp", …}).
  nlohmann::json row(Arguments arguments) const;
  /// The summary of the same.
  nlohmann::json summary(Arguments arguments) const;
  static Arguments model();

 private:
  TempDir folder_;
};

/// One bench for all tests of a process.
const ClassifyBench& classify_bench();

/// Inputs of all rows but the summary.
std::vector<std::string> inputs_of(const std::vector<nlohmann::json>& rows);

}  // namespace ttt::test
