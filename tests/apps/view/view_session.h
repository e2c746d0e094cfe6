// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/apps/running_program.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace ttt::test {

/// A `ttt view` that runs on the folder of render_bench(), and requests to it.
class ViewSession {
 public:
  using Arguments = std::vector<std::string>;

  /// `ttt view` with the tiny model, 32x24, inputs 0,2,4,6 of ring, a free port and JSON lines,
  /// each unless the arguments say otherwise. Waits until it serves.
  explicit ViewSession(const Arguments& arguments);
  /// The arguments that the constructor makes of these.
  static Arguments complete(const Arguments& arguments);

  bool serves() const { return !row_.is_null(); }
  /// The row that told the url.
  const nlohmann::json& row() const { return row_; }
  std::string url() const { return row_["url"]; }
  nlohmann::json scene() const;
  /// The picture of a view, by default the first. Fails the test when there is none.
  std::string picture(nlohmann::json view = nullptr, bool draft = false) const;
  std::string post(const std::string& path, const nlohmann::json& body) const;
  /// The status of a GET with these headers.
  int status(const std::string& path, const std::map<std::string, std::string>& headers) const;
  /// Ends it by SIGINT, which must give exit code 130; the last row.
  nlohmann::json end();
  RunningProgram& program() { return program_; }

 private:
  RunningProgram program_;
  nlohmann::json row_;
};

}  // namespace ttt::test
