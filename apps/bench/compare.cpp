// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/compare.h"

#include "apps/bench/rows.h"
#include "apps/common/run_record.h"
#include "apps/common/small_sink.h"
#include "apps/common/text.h"
#include "core/error.h"
#include "core/inputs/text.h"
#include "core/log.h"
#include "core/nearest.h"
#include "kernels/registry.h"
#include "nvs/model/config.h"
#include "vision/model_catalog.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uintmax_t kLargestFile = std::uintmax_t{64} << 20;
// Milliseconds; what lies outside was not measured, and its ratios would leave the range of
// numbers.
constexpr double kShortestTime = 1e-9, kLongestTime = 1e12;

/// What one file says.
struct ResultFile {
  std::vector<std::string> order;  ///< keys of the rows
  std::map<std::string, Json> rows;
  Json host, commit;
};

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::input, what, printable(path),
              "give a result of `ttt bench` that was written with --format json or jsonl");
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file.is_open()) {
    std::string buffer(1 << 16, '\0');
    while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())),
           file.gcount() > 0) {
      text.append(buffer, 0, static_cast<std::size_t>(file.gcount()));
      if (text.size() > kLargestFile) refuse(path, "the file is too large for a result");
    }
  }
  if (!file.is_open() || file.bad())
    throw Error(ErrorKind::input, "can't read the file", printable(path),
                "check the name, and that it is a file that you may read");
  return decode_text({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

/// Discarded when it is no JSON. Nothing that bench writes is deeper than this; the library copies
/// and frees nested values by recursion, so without a limit a small file overflows the stack.
Json parse_json(const std::string& path, const std::string& text) {
  constexpr int kDeepest = 16;
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepest) refuse(path, "the file is nested too deeply");
    return true;
  };
  return Json::parse(text, shallow, /*allow_exceptions=*/false);
}

/// The rows and the summary of either form.
std::vector<Json> parse_rows(const std::string& path, const std::string& text) {
  const Json document = parse_json(path, text);
  if (document.is_object() && document.contains("results") && document["results"].is_array()) {
    std::vector<Json> rows(document["results"].begin(), document["results"].end());
    if (document.contains("summary")) rows.push_back(document["summary"]);
    return rows;
  }
  std::vector<Json> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    rows.push_back(parse_json(path, line));
    if (!rows.back().is_object())
      refuse(path, fmt::format("line {} is no JSON object", rows.size()));
  }
  return rows;
}

double time_of(const Json& row, const std::string& path) {
  const auto found = row.find("time_ms");
  const double time = found != row.end() && found->is_number() ? found->get<double>() : 0;
  if (!(time > 0))
    refuse(path, fmt::format("the time of \"{}\" is no positive number", subject_text(row)));
  if (!(time >= kShortestTime && time <= kLongestTime))
    refuse(path,
           fmt::format("the time of \"{}\" is {:g} ms, which can't be", subject_text(row), time));
  return time;
}

/// Adds a row that holds a time; others are the summary and failures.
void take_row(ResultFile& result, const Json& row, const std::string& path) {
  if (!row.is_object()) refuse(path, "a row is no JSON object");
  if (row.contains("schema") && row["schema"] != kSchema)
    refuse(path, fmt::format("a row has schema {}, and this program reads schema {}",
                             printable(dump_json(row["schema"]), 40), kSchema));
  if (row.contains("host")) result.host = row["host"];
  if (row.contains("commit")) result.commit = row["commit"];
  if (!row.contains("kind") || !row.contains("status") || row["status"] != "ok") return;
  time_of(row, path);
  Json identity;
  for (const std::string& field : identity_fields())
    identity[field] = row.contains(field) ? row[field] : Json(nullptr);
  const std::string key = dump_json(identity);
  if (!result.rows.emplace(key, row).second)
    refuse(path, fmt::format("\"{}\" is there twice", subject_text(row)));
  result.order.push_back(key);
}

ResultFile read_results(const std::string& path) {
  ResultFile result;
  for (const Json& row : parse_rows(path, read_whole(path))) take_row(result, row, path);
  if (result.rows.empty()) refuse(path, "there are no measurements in this file");
  return result;
}

struct Comparison {
  std::vector<Json> rows;
  std::map<std::string, int> counts{
      {"same", 0}, {"faster", 0}, {"slower", 0}, {"missing", 0}, {"new", 0}};
  double log_sum = 0;
  Json worst;  ///< the row with the largest ratio

  int compared() const { return counts.at("same") + counts.at("faster") + counts.at("slower"); }
};

Json comparison_row(const Json& subject, const std::string& status) {
  Json row{{"schema", kSchema}};
  for (const std::string& field : identity_fields())
    row[field] = subject.contains(field) ? subject[field] : Json(nullptr);
  row["status"] = status;
  for (const char* field : {"a_ms", "b_ms", "ratio"}) row[field] = nullptr;
  return row;
}

void add(Comparison& comparison, Json row) {
  ++comparison.counts[row["status"].get<std::string>()];
  comparison.rows.push_back(std::move(row));
}

Comparison compare(const BenchOptions& options, const ResultFile& a, const ResultFile& b) {
  Comparison result;
  for (const std::string& key : a.order) {
    const Json& before = a.rows.at(key);
    const double time = time_of(before, options.compare[0]);
    const auto after = b.rows.find(key);
    if (after == b.rows.end()) {
      Json row = comparison_row(before, "missing");
      row["a_ms"] = time;
      add(result, std::move(row));
      continue;
    }
    const double new_time = time_of(after->second, options.compare[1]);
    const double ratio = new_time / time;
    const bool slower = ratio > 1 + options.threshold;
    Json row = comparison_row(before, slower                                ? "slower"
                                      : ratio < 1 / (1 + options.threshold) ? "faster"
                                                                            : "same");
    row["a_ms"] = time;
    row["b_ms"] = new_time;
    row["ratio"] = significant(ratio, 5);
    result.log_sum += std::log(ratio);
    if (result.worst.is_null() || ratio > result.worst["ratio"].get<double>()) result.worst = row;
    add(result, std::move(row));
  }
  for (const std::string& key : b.order) {
    if (a.rows.contains(key)) continue;
    Json row = comparison_row(b.rows.at(key), "new");
    row["b_ms"] = time_of(b.rows.at(key), options.compare[1]);
    add(result, std::move(row));
  }
  TTT_CHECK(result.compared() > 0, input, "the two files have no measurement in common",
            printable(options.compare[0]) + ", " + printable(options.compare[1]),
            "measure the same subjects with the same --threads in both");
  return result;
}

Json summary_of(const BenchOptions& options, const Comparison& comparison, const ResultFile& a,
                const ResultFile& b) {
  Json result{{"schema", kSchema}, {"status", "summary"}, {"command", "bench --compare"}};
  put_name(result, "a", options.compare[0]);
  put_name(result, "b", options.compare[1]);
  result["a_commit"] = a.commit;
  result["b_commit"] = b.commit;
  result["passed"] = comparison.counts.at("slower") == 0;
  result["threshold"] = options.threshold;
  result["mean_ratio"] = significant(std::exp(comparison.log_sum / comparison.compared()), 5);
  result["counts"] = {{"compared", comparison.compared()}};
  for (const auto& [status, count] : comparison.counts) result["counts"][status] = count;
  return result;
}

struct SubjectName {
  std::string name;
  std::string_view kind, option;
};

std::vector<SubjectName> subject_names() {
  std::vector<SubjectName> all;
  for (const ops::Op& op : ops::registry())
    all.push_back({std::string(op.name), "an operation", "--op"});
  for (const vision::ModelPreset& preset : vision::model_presets())
    for (const std::string_view name : {preset.name, preset.official_name})
      all.push_back({std::string(name), "a model", "--model"});
  for (const nvs::LvsmPreset& preset : nvs::lvsm_presets())
    all.push_back({std::string(preset.name), "a model", "--model"});
  return all;
}

/// A word without a flag is a file to compare, but may have been meant as what to measure.
void check_not_a_subject(const std::string& word) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(word, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_directory(status)) return;
  if (word.find_first_of("./") != std::string::npos) return;
  const std::vector<SubjectName> subjects = subject_names();
  std::vector<std::string> names;
  for (const SubjectName& subject : subjects) names.push_back(subject.name);
  const std::string meant = nearest_name(word, names);
  for (const SubjectName& subject : subjects) {
    if (subject.name != meant) continue;
    const std::string command = fmt::format("`ttt bench {} {}`", subject.option, subject.name);
    const bool exact = meant == word;
    throw Error(ErrorKind::usage,
                exact ? fmt::format("{} is {}, not a result file", word, subject.kind)
                      : fmt::format("there is no result file \"{}\"", printable(word, 80)),
                "ttt bench", (exact ? "type " : "to measure something, type ") + command);
  }
}

void check_options(const OptionTable& table, const BenchOptions& options) {
  for (const std::string& word : options.compare) check_not_a_subject(word);
  TTT_CHECK(options.compare.size() == 2, usage,
            fmt::format("--compare needs two files, not {}", options.compare.size()), "--compare",
            "`ttt bench --compare before.json after.json` compares; `ttt bench --model NAME` or "
            "`--op NAME` measures");
  for (const char* name : {"op", "case", "model", "weights", "pass", "size", "batch", "dtype",
                           "backend", "threads", "device", "cuda-graph", "warm-up", "repetitions"})
    TTT_CHECK(table.at(name).origin != "command line", usage,
              fmt::format("--compare measures nothing, so --{} has no meaning", name),
              fmt::format("--compare, --{}", name), "leave out one of them");
}

}  // namespace

void run_comparison(const OptionTable& table, const BenchOptions& options) {
  check_options(table, options);
  const ResultFormat format = choose_format(options.format, options.output);
  const bool to_file = check_small_output(options.output, options.overwrite);
  Json record = begin_run_record(table);
  const ResultFile a = read_results(options.compare[0]), b = read_results(options.compare[1]);
  if (a.host != b.host) log_warning("the two files are from different machines");
  const Comparison comparison = compare(options, a, b);
  std::size_t width = 0;
  for (const Json& row : comparison.rows) width = std::max(width, subject_text(row).size());
  const std::unique_ptr<ResultSink> sink =
      make_small_sink(options.output, make_comparison_renderer(format, width));
  for (const Json& row : comparison.rows) sink->row(row);
  const Json summary = summary_of(options, comparison, a, b);
  sink->finish(summary, true);
  if (to_file) {
    record["counts"] = summary["counts"];
    finish_run_record(record, options.output, "complete");
  }
  TTT_CHECK(summary["passed"].get<bool>(), check,
            fmt::format("{} of {} take longer than before; the worst, {} in {}, takes {:.2f} times "
                        "as long",
                        comparison.counts.at("slower"), comparison.compared(),
                        subject_text(comparison.worst),
                        comparison.worst["dtype"].is_string()
                            ? printable(comparison.worst["dtype"].get<std::string>())
                            : "unknown type",
                        comparison.worst["ratio"].get<double>()),
            "--compare", "measure again on a quiet machine, or give a larger --threshold");
}

}  // namespace ttt::cli
