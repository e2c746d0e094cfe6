// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/classify_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <sstream>

namespace ttt::test {
namespace {

namespace fs = std::filesystem;
using Arguments = ClassifyBench::Arguments;
using Json = nlohmann::json;
using Names = std::vector<std::string>;

const ClassifyBench& bench() {
  return classify_bench();
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

Arguments with_model(Arguments arguments) {
  const Arguments model = ClassifyBench::model();
  arguments.insert(arguments.end(), model.begin(), model.end());
  return arguments;
}

std::vector<Json> json_lines_of(const std::string& path) {
  return ProgramResult{.out = read_text_file(path)}.json_lines();
}

/// `count` pictures, every tenth of them broken in one of several ways.
std::string make_folder(const std::string& name, int count) {
  const std::string folder = bench() / name;
  fs::create_directory(folder);
  const std::string picture = read_text_file(bench() / "flat/a.bmp");
  const std::vector<std::string> broken{"", "text", picture.substr(0, picture.size() / 2),
                                        "<!DOCTYPE html><html>", std::string(100, '\0')};
  for (int i = 0; i < count; ++i)
    write_text_file(
        folder + "/p" + std::to_string(i) + ".bmp",
        i % 10 == 9 ? broken[static_cast<std::size_t>(i / 10) % broken.size()] : picture);
  return folder;
}

TEST(Classify, ARowForEachPictureAndASummary) {
  const auto rows = bench().rows({"flat"});
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(inputs_of(rows), (Names{"flat/a.bmp", "flat/b.bmp", "flat/c.bmp", "flat/d.bmp"}));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i]["schema"], 1);
    EXPECT_EQ(rows[i]["status"], "ok");
    EXPECT_EQ(rows[i]["width"], 40);
    EXPECT_EQ(rows[i]["height"], 48);
    EXPECT_GE(rows[i]["time_ms"], 0);
    EXPECT_GE(rows[i]["topk"][0]["prob"], rows[i]["topk"][1]["prob"]);
  }
  const Json& summary = rows.back();
  EXPECT_EQ(summary["status"], "summary");
  EXPECT_EQ(summary["counts"], (Json{{"total", 4}, {"ok", 4}, {"failed", 0}, {"not_done", 0}}));
  for (const char* key : {"version", "weights_hash", "seed", "device", "total_time_ms"})
    EXPECT_TRUE(summary.contains(key)) << key;
  EXPECT_FALSE(summary.contains("accuracy"));
}

TEST(Classify, BrokenPicturesAreRowsAndTheRestIsRight) {
  make_folder("hundred", 100);
  const ProgramResult result = bench().run(with_model({"hundred", "--format", "jsonl"}));
  EXPECT_EQ(result.code, 4);
  const auto rows = result.json_lines();
  ASSERT_EQ(rows.size(), 101U);
  for (int i = 0; i < 100; ++i) {
    const Json& row = rows[static_cast<std::size_t>(i)];
    EXPECT_EQ(row["input"], "hundred/p" + std::to_string(i) + ".bmp");
    EXPECT_EQ(row["status"], i % 10 == 9 ? "error" : "ok");
    if (i % 10 == 9) {
      EXPECT_TRUE(contains(row["error"], "p" + std::to_string(i) + ".bmp")) << row;
      EXPECT_FALSE(row.contains("topk"));
    } else {
      EXPECT_EQ(row["topk"], rows[0]["topk"]);
    }
  }
  EXPECT_EQ(rows.back()["counts"]["failed"], 10);
  EXPECT_TRUE(contains(result.err, "error: 10 of 100 pictures failed"));
}

TEST(Classify, RepeatedWarningsAreCounted) {
  fs::create_directory(bench() / "texts");
  for (int i = 0; i < 25; ++i)
    write_text_file(bench() / ("texts/" + std::to_string(i) + ".jpg"), "text");
  const ProgramResult result = bench().run(with_model({"texts", "--format", "jsonl"}));
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(count_of(result.err, "warning: "), 10) << result.err;
  EXPECT_TRUE(contains(result.err, "and 15 more")) << result.err;
}

TEST(Classify, AnOnlyInputThatFailsExitsWithFour) {
  for (const char* name : {"bad.jpg", "none.jpg"}) {
    const ProgramResult result = bench().run(with_model({name, "-q", "--format", "jsonl"}));
    EXPECT_EQ(result.code, 4) << name;
    EXPECT_EQ(result.json_lines().front()["status"], "error");
    EXPECT_TRUE(contains(result.err, name));
  }
  expect_error(bench().run({"-w", "tiny.safetensors"}), 2, "no input is given");
  fs::create_directory(bench() / "empty");
  EXPECT_EQ(bench().run(with_model({"empty"})).code, 4);
}

TEST(Classify, InterruptKeepsWhatIsDoneAndResumeDoesTheRest) {
  make_folder("long", 400);
  const std::string output = bench() / "long.jsonl";
  Arguments arguments{"classify", "long", "-o", "long.jsonl", "-b", "1", "--size", "64"};
  for (const char* more : {"-w", "tiny.safetensors", "--threads", "1"})
    arguments.emplace_back(more);
  const ProgramResult first = run_ttt(ProgramCall{.arguments = arguments,
                                                  .directory = bench().path(),
                                                  .signal_after_lines = 5,
                                                  .watch = output + ".partial"});
  EXPECT_EQ(first.code, 130) << first.err;
  EXPECT_TRUE(contains(first.last_error_line(), "--resume")) << first.err;
  const auto done = json_lines_of(output);
  ASSERT_GE(done.size(), 6U);
  ASSERT_LT(done.size(), 400U);
  EXPECT_EQ(done.back()["interrupted"], true);
  EXPECT_EQ(Json::parse(read_text_file(output + ".run.json"))["status"], "interrupted");

  arguments.emplace_back("--resume");
  const ProgramResult second =
      run_ttt(ProgramCall{.arguments = arguments, .directory = bench().path()});
  EXPECT_EQ(second.code, 4) << second.err;
  const auto rows = json_lines_of(output);
  ASSERT_EQ(rows.size(), 401U);
  for (int i = 0; i < 400; ++i)
    EXPECT_EQ(rows[static_cast<std::size_t>(i)]["input"], "long/p" + std::to_string(i) + ".bmp");
  EXPECT_EQ(rows.back()["counts"],
            (Json{{"total", 400}, {"ok", 360}, {"failed", 40}, {"not_done", 0}}));
  EXPECT_FALSE(fs::exists(output + ".partial"));
}

TEST(Classify, AKilledRunIsResumedInAnyFormat) {
  make_folder("killed", 200);
  Arguments arguments = with_model({"classify", "killed", "-o", "killed.csv", "-b", "1"});
  const std::string output = bench() / "killed.csv";
  const ProgramResult first = run_ttt(ProgramCall{.arguments = arguments,
                                                  .directory = bench().path(),
                                                  .signal_after_lines = 3,
                                                  .watch = output + ".partial",
                                                  .signal_number = SIGKILL});
  EXPECT_EQ(first.code, 128 + SIGKILL);
  EXPECT_FALSE(fs::exists(output));
  expect_error(run_ttt(ProgramCall{.arguments = arguments, .directory = bench().path()}), 5,
               "unfinished", "--resume");
  arguments.emplace_back("--resume");
  EXPECT_EQ(run_ttt(ProgramCall{.arguments = arguments, .directory = bench().path()}).code, 4);
  EXPECT_EQ(count_of(read_text_file(output), "\r\n"), 201);
}

TEST(Classify, AccuracyOverClassFolders) {
  const auto rows = bench().rows({"data", "--split", "all"});
  const Json& accuracy = rows.back()["accuracy"];
  EXPECT_EQ(accuracy["count"], 4);
  int hits = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i]["target"], contains(rows[i]["input"], "/0/") ? 0 : 1);
    if (rows[i]["rank"] == 1) ++hits;
    EXPECT_EQ(rows[i]["rank"] == 1, rows[i]["topk"][0]["index"] == rows[i]["target"]);
  }
  EXPECT_EQ(accuracy["top1"], hits / 4.0);
  EXPECT_EQ(accuracy["confusion"].size(), 10U);
  int sum = 0;
  for (const Json& row : accuracy["confusion"])
    for (const Json& entry : row) sum += entry.get<int>();
  EXPECT_EQ(sum, 4);
  EXPECT_EQ(accuracy["per_class"].size(), 2U);
}

TEST(Classify, AResumedRunCountsEarlierRows) {
  fs::copy(bench() / "data", bench() / "repaired", fs::copy_options::recursive);
  const std::string picture = read_text_file(bench() / "repaired/test/1/1.bmp");
  write_text_file(bench() / "repaired/test/1/1.bmp", "broken");
  const Arguments arguments{"repaired", "--split", "all", "-o", "repaired.jsonl"};
  bench().rows(arguments, 4);
  EXPECT_EQ(json_lines_of(bench() / "repaired.jsonl").back()["accuracy"]["count"], 3);
  write_text_file(bench() / "repaired/test/1/1.bmp", picture);
  Arguments resumed = arguments;
  resumed.emplace_back("--resume");
  bench().rows(resumed);
  const auto rows = json_lines_of(bench() / "repaired.jsonl");
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows.back()["accuracy"], bench().rows({"data", "--split", "all"}).back()["accuracy"]);
}

TEST(Classify, LabelsFromATable) {
  write_text_file(bench() / "table.csv", "path,label\r\nflat/a.bmp,3\r\n\"flat/b.bmp\",4\r\n");
  const auto rows = bench().rows({"table.csv"});
  EXPECT_EQ(rows.at(0)["target"], 3);
  EXPECT_EQ(rows.back()["accuracy"]["count"], 2);
}

TEST(Classify, OddNamesArriveWhole) {
  fs::create_directory(bench() / "odd");
  const std::string picture = read_text_file(bench() / "flat/a.bmp");
  const Names names{"a b.bmp", "a,b.bmp", "new\nline.bmp", "q\"q.bmp", "latin\xE9.bmp", "ü.bmp"};
  for (const std::string& name : names) write_text_file(bench() / ("odd/" + name), picture);
  const auto rows = bench().rows({"odd"});
  ASSERT_EQ(rows.size(), names.size() + 1);
  Names found;
  for (const auto& row : rows) {
    if (!row.contains("input")) continue;
    found.push_back(row["input"]);
    EXPECT_EQ(row.contains("input_hex"), contains(row["input"], "latin"));
    if (row.contains("input_hex")) {
      EXPECT_EQ(row["input_hex"], "6f64642f6c6174696ee92e626d70");
    }
  }
  for (const char* name : {"odd/a,b.bmp", "odd/new\nline.bmp", "odd/latin\\xE9.bmp"})
    EXPECT_NE(std::find(found.begin(), found.end(), name), found.end()) << name;
  const ProgramResult csv = bench().run(with_model({"odd", "--format", "csv"}));
  EXPECT_TRUE(contains(csv.out, "\"odd/a,b.bmp\",ok"));
  EXPECT_TRUE(contains(csv.out, "\"odd/q\"\"q.bmp\",ok"));
  const ProgramResult table = bench().run(with_model({"odd"}));
  EXPECT_TRUE(contains(table.out, "odd/new\\x0Aline.bmp"));
}

TEST(Classify, OutputsThatCantBeWritten) {
  Arguments arguments = with_model({"classify", "flat"});
  const ProgramResult full = run_ttt(
      ProgramCall{.arguments = arguments, .output_path = "/dev/full", .directory = bench().path()});
  EXPECT_EQ(full.code, 5);
  EXPECT_TRUE(contains(full.err, "No space left"));
  EXPECT_EQ(bench().run(with_model({"flat", "-o", "/dev/full"})).code, 5);
  EXPECT_EQ(bench().run(with_model({"flat", "-o", "/proc/nothing/x.jsonl"})).code, 5);
  EXPECT_EQ(bench().run(with_model({"flat", "-o", "flat", "--format", "csv"})).code, 5);
  // A device is written to, never replaced.
  EXPECT_EQ(bench().run(with_model({"flat", "-o", "/dev/null", "--overwrite"})).code, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(Classify, ARunRecordRepeatsTheRun) {
  bench().rows({"flat/b.bmp", "-k", "2", "-o", "record.jsonl"});
  const ProgramResult result =
      bench().run({"--config", "record.jsonl.run.json", "--format", "jsonl", "-q"});
  EXPECT_EQ(result.code, 0) << result.err;
  const auto rows = result.json_lines();
  EXPECT_EQ(rows.at(0)["topk"], json_lines_of(bench() / "record.jsonl").at(0)["topk"]);
}

TEST(Classify, QuietPrintsOnlyResults) {
  EXPECT_EQ(bench().run(with_model({"flat", "-q"})).err, "");
  const ProgramResult loud = bench().run(with_model({"flat"}));
  for (const char* word : {"model: ", "pre-processing: 32x32", "running: 4 pictures on cpu"})
    EXPECT_TRUE(contains(loud.err, word)) << word;
  EXPECT_FALSE(contains(loud.out, "pre-processing"));
}

TEST(Classify, MemoryIsEstimatedBeforeTheWork) {
  write_text_file(bench() / "long.txt", [] {
    std::string list;
    for (int i = 0; i < 4096; ++i) list += "flat/a.bmp\n";
    return list;
  }());
  const Arguments huge{"-w", "tiny.safetensors", "--size", "8192x8192", "-b", "4096", "-q"};
  Arguments many = huge;
  many.emplace_back("long.txt");
  expect_error(bench().run(many), 6, "MiB are free", "smaller --batch");
}

TEST(Classify, ContradictionsAreNamed) {
  expect_error(bench().run({"a", "--overwrite", "--resume", "-o", "x.jsonl"}), 2, "--overwrite");
  expect_error(bench().run({"a", "--stdin-jsonl"}), 2, "--stdin-jsonl");
  expect_error(bench().run({"--stdin-jsonl", "--format", "csv"}), 2, "JSON lines");
  expect_error(bench().run({"a", "--random-weights", "-m", "vit3_t", "-w", "x"}), 2, "");
}

}  // namespace
}  // namespace ttt::test
