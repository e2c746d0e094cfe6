// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/result_format.h"
#include "apps/common/result_sink.h"
#include "apps/common/run_record.h"
#include "apps/common/text.h"
#include "core/error.h"
#include "tests/apps/run_program.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

ErrorKind kind_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty()) << error.what();
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return ErrorKind::internal;
}

TEST(Text, NamesThatAreNotUtf8SurviveJson) {
  for (const std::string name :
       {"plain", "ü.jpg", "\xE9.jpg", "\\xE9.jpg", "a\nb", "\xC3", "\x7F"}) {
    Json object;
    put_name(object, "input", name);
    const Json back = Json::parse(dump_json(object));
    EXPECT_EQ(get_name(back, "input"), name);
    EXPECT_EQ(back.contains("input_hex"), !is_utf8(name));
  }
}

TEST(Text, DumpNeverThrowsOnBytes) {
  const Json value{{"a", "\xff"}, {"b", {"\xC3\x28", 1}}};
  EXPECT_EQ(dump_json(value), R"({"a":"\\xFF","b":["\\xC3(",1]})");
}

TEST(Text, SixSignificantDigits) {
  EXPECT_EQ(dump_json(significant(0.1234567891, 6)), "0.123457");
  EXPECT_EQ(dump_json(significant(1.23456789e-9, 6)), "1.23457e-09");
  EXPECT_EQ(dump_json(significant(1.0, 6)), "1.0");
  EXPECT_EQ(dump_json(significant(0.17974312, 6)), "0.179743");
  EXPECT_EQ(dump_json(significant(std::nan(""), 6)), "null");
  EXPECT_EQ(dump_json(shortest(0.1F)), "0.1");
  EXPECT_EQ(static_cast<float>(shortest(0.333333343F)), 0.333333343F);
}

TEST(Text, CsvQuoting) {
  EXPECT_EQ(csv_field("a b"), "a b");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\"\n"), "\"say \"\"x\"\"\n\"");
}

TEST(ResultFormats, TheSuffixDecides) {
  EXPECT_EQ(choose_format("auto", ""), ResultFormat::table);
  EXPECT_EQ(choose_format("csv", "-"), ResultFormat::csv);
  EXPECT_EQ(choose_format("auto", "a.JSONL"), ResultFormat::jsonl);
  EXPECT_EQ(choose_format("auto", "a.txt"), ResultFormat::table);
  EXPECT_EQ(choose_format("json", "a.dat"), ResultFormat::json);
  EXPECT_EQ(kind_of([] { choose_format("auto", "a.dat"); }), ErrorKind::usage);
  EXPECT_EQ(kind_of([] { choose_format("json", "a.csv"); }), ErrorKind::usage);
  EXPECT_EQ(kind_of([] { choose_format("auto", "noextension"); }), ErrorKind::usage);
}

Json row(const std::string& name, const std::string& status = "ok") {
  return {{"schema", kSchema}, {"input", name}, {"status", status}};
}

TEST(ResultFormats, Documents) {
  auto json = make_json_renderer();
  std::string text = json->begin();
  text += json->row(row("a"));
  text += json->row(row("b"));
  text += json->end({{"n", 2}});
  EXPECT_EQ(Json::parse(text)["results"].size(), 2U);
  auto empty = make_json_renderer();
  EXPECT_TRUE(Json::parse(empty->begin() + empty->end({{"n", 0}}))["results"].empty());
  auto csv =
      make_csv_renderer({{"input", [](const Json& r) { return r["input"].get<std::string>(); }},
                         {"k", [](const Json&) { return std::string("1,2"); }}});
  EXPECT_EQ(csv->begin() + csv->row(row("a")) + csv->end({}), "input,k\r\na,\"1,2\"\r\n");
}

class ResultFiles : public ::testing::Test {
 protected:
  FileSink open(bool resume = false, bool overwrite = false) {
    return FileSink({output_, overwrite, resume}, make_jsonl_renderer());
  }
  std::string text() const { return test::read_text_file(output_); }

  test::TempDir folder_;
  std::string output_ = folder_ / "sub/out.jsonl";
  std::string partial_ = output_ + ".partial";
};

TEST_F(ResultFiles, AppearWholeAtTheEnd) {
  {
    FileSink sink = open();
    sink.row(row("a"));
    EXPECT_FALSE(fs::exists(output_));
    sink.finish({{"status", "summary"}}, true);
  }
  EXPECT_EQ(text(), dump_json(row("a")) + "\n{\"status\":\"summary\"}\n");
  EXPECT_FALSE(fs::exists(partial_));
}

TEST_F(ResultFiles, AreNotReplacedUnasked) {
  open().finish({}, true);
  EXPECT_EQ(kind_of([&] { open(); }), ErrorKind::output);
  open(false, true).finish({}, true);
}

TEST_F(ResultFiles, AKilledRunGoesOn) {
  {
    FileSink sink = open();
    sink.row(row("a"));
    sink.row(row("bad", "error"));
    sink.row(row("c"));
  }
  test::write_text_file(partial_, test::read_text_file(partial_) + "{\"schema\":1,\"inp");
  EXPECT_EQ(kind_of([&] { open(); }), ErrorKind::output);
  {
    FileSink sink = open(true);
    EXPECT_EQ(sink.finished(), (std::map<std::string, int>{{"a", 1}, {"c", 1}}));
    sink.set_order({"a", "bad", "c", "d"});
    sink.row(row("bad", "error"));
    sink.row(row("d"));
    sink.finish({{"status", "summary"}}, true);
  }
  std::string expected;
  for (const Json& line : {row("a"), row("bad", "error"), row("c"), row("d")})
    expected += dump_json(line) + "\n";
  EXPECT_EQ(text(), expected + "{\"status\":\"summary\"}\n");
}

TEST_F(ResultFiles, AFinishedRunCanBeExtended) {
  {
    FileSink sink = open();
    sink.row(row("a"));
    sink.finish({{"status", "summary"}}, true);
  }
  FileSink sink = open(true);
  EXPECT_EQ(sink.finished().size(), 1U);
  sink.finish({{"status", "summary"}, {"n", 2}}, true);
  EXPECT_EQ(text(), dump_json(row("a")) + "\n{\"status\":\"summary\",\"n\":2}\n");
}

TEST_F(ResultFiles, ForeignFilesAreNotResumed) {
  fs::create_directories(folder_ / "sub");
  test::write_text_file(output_, "hello\nworld\n");
  EXPECT_EQ(kind_of([&] { open(true); }), ErrorKind::output);
  EXPECT_EQ(text(), "hello\nworld\n");
}

TEST_F(ResultFiles, TwoRunsDontShareAnOutput) {
  FileSink first = open();
  first.row(row("a"));
  EXPECT_EQ(kind_of([&] { open(true); }), ErrorKind::output);
  first.finish({}, true);
}

TEST_F(ResultFiles, AnInterruptedRunKeepsBoth) {
  {
    FileSink sink = open();
    sink.row(row("a"));
    sink.finish({{"status", "summary"}}, false);
  }
  EXPECT_TRUE(fs::exists(output_));
  EXPECT_EQ(open(true).finished().size(), 1U);
}

TEST(RunRecords, DifferencesAreNamed) {
  const Json before{{"identity", {{"weights", "abc"}, {"size", {224, 224}}}}};
  Json now = before;
  EXPECT_NO_THROW(check_same_run(before, now, "x"));
  now["identity"]["size"] = {192, 224};
  try {
    check_same_run(before, now, "x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.message().find("size was [224,224], now it is [192,224]"), std::string::npos)
        << error.message();
  }
}

}  // namespace
}  // namespace ttt::cli
