// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/result_format.h"

#include "apps/common/text.h"
#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <utility>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, ResultFormat>, 5> kSuffixes{
    {{".jsonl", ResultFormat::jsonl},
     {".ndjson", ResultFormat::jsonl},
     {".json", ResultFormat::json},
     {".csv", ResultFormat::csv},
     {".txt", ResultFormat::table}}};

constexpr std::array<std::pair<std::string_view, ResultFormat>, 4> kNames{
    {{"table", ResultFormat::table},
     {"jsonl", ResultFormat::jsonl},
     {"json", ResultFormat::json},
     {"csv", ResultFormat::csv}}};

template <std::size_t N>
std::optional<ResultFormat> look_up(
    const std::array<std::pair<std::string_view, ResultFormat>, N>& table, std::string_view key) {
  for (const auto& [name, format] : table)
    if (name == key) return format;
  return std::nullopt;
}

class JsonLines : public ResultRenderer {
 public:
  std::string row(const Json& row) override { return dump_json(row) + "\n"; }
  std::string end(const Json& summary) override { return dump_json(summary) + "\n"; }
};

class JsonDocument : public ResultRenderer {
 public:
  std::string begin() override { return fmt::format("{{\"schema\": {}, \"results\": [", kSchema); }
  std::string row(const Json& row) override {
    return (std::exchange(first_, false) ? "\n" : ",\n") + dump_json(row);
  }
  std::string end(const Json& summary) override {
    return "\n], \"summary\": " + dump_json(summary) + "}\n";
  }

 private:
  bool first_ = true;
};

class Csv : public ResultRenderer {
 public:
  explicit Csv(std::vector<CsvColumn> columns) : columns_(std::move(columns)) {}

  std::string begin() override {
    std::string line;
    for (const CsvColumn& column : columns_) append(line, column.name, &column);
    return line + "\r\n";
  }
  std::string row(const Json& row) override {
    std::string line;
    for (const CsvColumn& column : columns_) append(line, column.text(row), &column);
    return line + "\r\n";
  }
  std::string end(const Json& /*summary*/) override { return {}; }

 private:
  void append(std::string& line, const std::string& text, const CsvColumn* column) const {
    if (column != columns_.data()) line += ',';
    line += csv_field(text);
  }

  std::vector<CsvColumn> columns_;
};

}  // namespace

bool to_stdout(const std::string& output) {
  return output.empty() || output == "-";
}

bool to_stream(const std::string& output) {
  if (to_stdout(output)) return true;
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(output, ignored);
  return std::filesystem::exists(status) && std::filesystem::is_other(status);
}

ResultFormat choose_format(const std::string& format, const std::string& output) {
  const std::optional<ResultFormat> asked = look_up(kNames, format);
  if (to_stream(output)) return asked.value_or(ResultFormat::table);
  std::string suffix = std::filesystem::path(output).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::optional<ResultFormat> implied = look_up(kSuffixes, suffix);
  const std::string where = "--output " + printable(output);
  TTT_CHECK(asked || implied, usage, "the file name doesn't say which format to write", where,
            "end it in .jsonl, .json, .csv or .txt, or give --format");
  TTT_CHECK(!asked || !implied || *asked == *implied, usage,
            fmt::format("--format {} contradicts the suffix {}", format, suffix), where,
            "change one of the two");
  return asked ? *asked : *implied;
}

std::unique_ptr<ResultRenderer> make_jsonl_renderer() {
  return std::make_unique<JsonLines>();
}
std::unique_ptr<ResultRenderer> make_json_renderer() {
  return std::make_unique<JsonDocument>();
}
std::unique_ptr<ResultRenderer> make_csv_renderer(std::vector<CsvColumn> columns) {
  return std::make_unique<Csv>(std::move(columns));
}

}  // namespace ttt::cli
