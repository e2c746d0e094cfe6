// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ttt::cli {

enum class ResultFormat { table, jsonl, json, csv };

/// The format of a run. `format` is "auto", "table", "jsonl", "json" or "csv"; with "auto" the
/// suffix of the output decides (.jsonl, .ndjson, .json, .csv, .txt), and standard output gets a
/// table. Throws Error(usage) when suffix and format contradict each other, or "auto" can't tell.
ResultFormat choose_format(const std::string& format, const std::string& output);

/// Whether results go to standard output: no --output, or "-".
bool to_stdout(const std::string& output);
/// Whether results are only passed on: standard output, a pipe or a device. Such an output has no
/// run record and can't be resumed.
bool to_stream(const std::string& output);

/// Turns result rows into text. Rows and the summary are the objects of the JSON-lines form.
class ResultRenderer {
 public:
  using Json = nlohmann::ordered_json;
  virtual ~ResultRenderer() = default;
  virtual std::string begin() { return {}; }
  virtual std::string row(const Json& row) = 0;
  virtual std::string end(const Json& summary) = 0;
};

/// One line per row, the summary last.
std::unique_ptr<ResultRenderer> make_jsonl_renderer();
/// {"schema", "results": [rows], "summary"}.
std::unique_ptr<ResultRenderer> make_json_renderer();

struct CsvColumn {
  std::string name;
  std::function<std::string(const nlohmann::ordered_json& row)> text;
};
/// A header and the rows as in RFC 4180, lines ending in CR LF; no summary.
std::unique_ptr<ResultRenderer> make_csv_renderer(std::vector<CsvColumn> columns);

}  // namespace ttt::cli
