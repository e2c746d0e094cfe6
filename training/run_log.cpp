// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/run_log.h"

#include "core/atomic_file.h"
#include "core/error.h"
#include "training/curves.h"

#include <nlohmann/json.hpp>

namespace ttt::training {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Json> read_rows(const std::filesystem::path& path) {
  std::vector<Json> rows;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    Json row = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    // A process that was killed while writing leaves half a line.
    if (row.is_object() && row.contains("step") && row["step"].is_number_integer())
      rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

RunLog::RunLog(std::filesystem::path folder, std::int64_t resume_step)
    : folder_(std::move(folder)) {
  std::string kept;
  for (const Json& row : read_rows(folder_ / "log.jsonl"))
    if (row["step"].get<std::int64_t>() <= resume_step) kept += row.dump() + "\n";
  write_file(folder_ / "log.jsonl", kept);
  stream_.open(folder_ / "log.jsonl", std::ios::app);
  TTT_CHECK(stream_.good(), output, "the log can't be written",
            printable((folder_ / "log.jsonl").string()));
}

void RunLog::write(const Json& row) {
  stream_ << row.dump() << '\n' << std::flush;
  TTT_CHECK(stream_.good(), output, "the log can't be written",
            printable((folder_ / "log.jsonl").string()), "free some disk space, then resume");
}

std::vector<Json> RunLog::rows() const {
  return read_rows(folder_ / "log.jsonl");
}

void RunLog::write_curves() const {
  training::write_curves(rows(), folder_);
}

}  // namespace ttt::training
