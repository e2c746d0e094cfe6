// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/bench_results.h"
#include "tests/apps/run_program.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>

namespace ttt::test {

using Json = nlohmann::json;

std::string write_bench_result(const TempDir& folder, const std::string& name,
                               const std::vector<double>& times) {
  std::string text;
  for (std::size_t i = 0; i < times.size(); ++i)
    text += Json{{"schema", 1},       {"kind", "op"},       {"name", "rope_2d"}, {"case", "a"},
                 {"pass", "forward"}, {"dtype", "fp32"},    {"backend", "cpu"},  {"threads", i + 1},
                 {"status", "ok"},    {"time_ms", times[i]}}
                .dump() +
            "\n";
  text += R"({"schema": 1, "status": "summary", "command": "bench", "host": {}})";
  write_text_file(folder / name, text + "\n");
  return folder / name;
}

namespace {

TEST(BenchCompare, TellsSlowerFasterAndTheRest) {
  const TempDir folder;
  const std::string a = write_bench_result(folder, "a.jsonl", {10, 10, 10, 10});
  const std::string b = write_bench_result(folder, "b.jsonl", {10.5, 20, 5});
  const ProgramResult result = run_ttt({"bench", "--compare", a, b, "--format", "jsonl"});
  EXPECT_EQ(result.code, 8);
  EXPECT_TRUE(contains(result.err, "1 of 3 take longer")) << result.err;
  EXPECT_TRUE(contains(result.err, "rope_2d a")) << result.err;
  EXPECT_TRUE(contains(result.err, "2.00 times")) << result.err;
  const std::vector<Json> all = result.json_lines();
  ASSERT_EQ(all.size(), 5U);
  const std::vector<std::string> expected{"same", "slower", "faster", "missing"};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(all[i]["status"], expected[i]);
  EXPECT_DOUBLE_EQ(all[1]["ratio"].get<double>(), 2);
  EXPECT_EQ(all.back()["passed"], false);
  EXPECT_EQ(all.back()["counts"]["compared"], 3);

  const ProgramResult back = run_ttt({"bench", "--compare", b, a});
  EXPECT_EQ(back.code, 8) << "5 ms became 10";
  EXPECT_TRUE(contains(back.out, "new")) << back.out;
  EXPECT_EQ(run_ttt({"bench", "--compare", a, a}).code, 0);
}

TEST(BenchCompare, RefusesWhatIsNoResult) {
  const TempDir folder;
  const std::string good = write_bench_result(folder, "good.jsonl", {1});
  const auto refused = [&](const std::string& content, const std::string& error) {
    write_text_file(folder / "bad.jsonl", content);
    expect_error(run_ttt({"bench", "--compare", good, folder / "bad.jsonl"}), 4, error);
    expect_error(run_ttt({"bench", "--compare", folder / "bad.jsonl", good}), 4, error);
  };
  const std::string row = read_text_file(good);
  const auto with_time = [&](const std::string& time) {
    Json changed = Json::parse(row.substr(0, row.find('\n')));
    changed["time_ms"] = Json::parse(time);
    return changed.dump();
  };
  refused("", "no measurements");
  refused("kind,name\nop,rope\n", "line 1 is no JSON object");
  refused("[1, 2]", "no JSON object");
  refused(R"({"results": [3]})", "no JSON object");
  refused(R"({"results": []})", "no measurements");
  refused(std::string(200000, '['), "nested too deeply");
  refused(std::string(200000, '[') + std::string(200000, ']'), "nested too deeply");
  refused(R"({"host": )" + std::string(200000, '[') + std::string(200000, ']') + "}\n" + row,
          "nested too deeply");
  refused(R"({"schema": 2, "kind": "op", "status": "ok", "name": "x", "time_ms": 1})", "schema 2");
  refused(with_time("1e300"), "can't be");
  refused(with_time("1e-300"), "can't be");
  refused(R"({"kind": "op", "status": "ok", "name": "x", "time_ms": 1e999})", "no JSON object");
  refused(with_time("true"), "no positive number");
  refused(with_time("0"), "no positive number");
  refused(with_time("-1"), "no positive number");
  refused(with_time("null"), "no positive number");
  refused(with_time("\"1\""), "no positive number");
  refused(with_time("1") + "\n" + with_time("2"), "there twice");
  refused(R"({"kind": "op", "status": "ok", "name": "x", "time_ms": 1})", "in common");
  expect_error(run_ttt({"bench", "--compare", good, folder / "none.json"}), 4, "can't read");
  expect_error(run_ttt({"bench", "--compare", good, folder.path()}), 4, "");
  expect_error(run_ttt({"bench", "--compare", good}), 2, "two files, not 1");
  expect_error(run_ttt({"bench", "--compare", good, good, good}), 2, "two files, not 3");
  expect_error(run_ttt({"bench", "--compare", good, good, "--op", "rope_2d"}), 2, "no meaning");
  expect_error(run_ttt({"bench", "--compare", good, good, "--cuda-graph", "off"}), 2, "no meaning");
}

/// As editors and shells on other systems write text.
TEST(BenchCompare, ReadsOtherEncodings) {
  const TempDir folder;
  const std::string good = write_bench_result(folder, "good.jsonl", {1, 2});
  const std::string text = read_text_file(good);
  std::string utf16 = "\xFF\xFE", windows = "\xEF\xBB\xBF";
  for (const char c : text) {
    utf16 += {c, '\0'};
    windows += c == '\n' ? "\r\n" : std::string(1, c);
  }
  for (const std::string& other : {utf16, windows}) {
    write_text_file(folder / "other.jsonl", other);
    const ProgramResult result = run_ttt({"bench", "--compare", good, folder / "other.jsonl"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(contains(result.out, "2 compared")) << result.out;
  }
}

}  // namespace
}  // namespace ttt::test
