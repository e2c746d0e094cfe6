// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/apps/run_program.h"
#include "tests/support/paths.h"

#include <string>
#include <vector>

namespace ttt::test {

/// A folder with a tiny LaCT-LVSM model, scenes and calls of `ttt render` on them. Paths below are
/// relative to the folder, in which the program runs.
///
///   tiny.safetensors        2 layers, dim 32, patch 4
///   ring/opencv_cameras.json, ring/0.png ... 9.png   32x24, cameras around the origin
///   other/...               the same with other pictures
///   index.json              both
///   holes/...               the picture of view 1 is missing, that of view 2 damaged
class RenderBench {
 public:
  using Arguments = std::vector<std::string>;

  RenderBench();
  const std::filesystem::path& path() const { return folder_.path(); }
  std::string operator/(const std::string& name) const { return folder_ / name; }

  /// `ttt render` with these arguments alone.
  ProgramResult run(const Arguments& arguments) const;
  /// With the tiny model, 32x24, inputs 0,2,4,6 and targets 1,3 of ring, and JSON lines, each
  /// unless the arguments say otherwise; expects the exit code.
  std::vector<nlohmann::json> rows(const Arguments& arguments, int code = 0) const;
  /// The last row.
  nlohmann::json summary(const Arguments& arguments) const;
  /// What --tensors holds, as bytes.
  std::string tensors(const Arguments& arguments) const;

 private:
  TempDir folder_;
};

/// One bench for all tests of a process.
const RenderBench& render_bench();

}  // namespace ttt::test
