// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

namespace ttt::training {

/// `log.jsonl` of a run: one JSON object a line, each with "kind" and "step". A resumed run first
/// drops the rows behind its checkpoint, so that every step occurs once.
class RunLog {
 public:
  /// Keeps the rows up to this step; a negative one starts an empty log.
  RunLog(std::filesystem::path folder, std::int64_t resume_step);
  void write(const nlohmann::ordered_json& row);
  /// Rewrites curves.csv (steps), evaluation.csv, norms.csv and curves.png from the log.
  void write_curves() const;

 private:
  std::vector<nlohmann::ordered_json> rows() const;

  std::filesystem::path folder_;
  std::ofstream stream_;
};

}  // namespace ttt::training
