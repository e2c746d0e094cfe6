// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/registry.h"
#include "tests/apps/bench_results.h"
#include "tests/apps/effects.h"
#include "tests/apps/render_bench.h"
#include "tests/apps/result_effects.h"
#include "tests/apps/run_program.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>

namespace ttt::test {
namespace {

using Json = nlohmann::json;

/// The name of one of its calls.
std::string first_rope_case() {
  for (const ops::Op& op : ops::registry())
    if (op.name == "rope_2d") return op.cases().front().name;
  return {};
}

/// The cheapest measurement: one small call of one operation, twice.
Arguments rope(const Arguments& more = {}) {
  return plus({"bench", "--op", "rope_2d", "--case", first_rope_case(), "-r", "2"}, more);
}

/// A small model of novel views.
Arguments lvsm(const Arguments& more = {}) {
  return plus({"bench", "-w", render_bench() / "tiny.safetensors", "--size", "16x8", "-r", "2",
               "--warm-up", "1", "-t", "1"},
              more);
}

/// The cheapest model.
Arguments vit(const Arguments& more = {}) {
  return plus({"bench", "-m", "vit3_t", "--size", "32", "-r", "2", "--warm-up", "1"}, more);
}

/// Values of a field over the rows without the summary.
std::set<Json> values(const std::vector<Json>& all, const std::string& field) {
  std::set<Json> found;
  for (const Json& row : all)
    if (row.contains("kind")) found.insert(row[field]);
  return found;
}

TEST(Bench, RowsOfAnOperationAddUp) {
  const std::vector<Json> all = jsonl_rows(rope({"--repetitions", "5"}));
  ASSERT_EQ(all.size(), 2U);
  const Json& row = all[0];
  EXPECT_EQ(row["kind"], "op");
  EXPECT_EQ(row["status"], "ok");
  EXPECT_EQ(row["samples"], 5);
  EXPECT_GE(row["passes_per_sample"], 1);
  const auto number = [&](const char* key) { return row[key].get<double>(); };
  EXPECT_GT(number("min_ms"), 0);
  EXPECT_LE(number("min_ms"), number("q1_ms"));
  EXPECT_LE(number("q1_ms"), number("time_ms"));
  EXPECT_LE(number("time_ms"), number("q3_ms"));
  EXPECT_LE(number("q3_ms"), number("max_ms"));
  EXPECT_TRUE(row["images_per_s"].is_null());
  const Json& summary = all.back();
  EXPECT_EQ(summary["status"], "summary");
  EXPECT_EQ(summary["counts"]["ok"], 1);
  for (const char* key : {"version", "commit", "libtorch", "host", "isa", "device"})
    EXPECT_TRUE(summary.contains(key)) << key;
}

TEST(Bench, RowsOfAModelAddUp) {
  const std::vector<Json> all = jsonl_rows(vit({"--batch", "3"}));
  ASSERT_EQ(all.size(), 2U);
  const Json& row = all[0];
  EXPECT_EQ(row["kind"], "model");
  EXPECT_EQ(row["name"], "vit3_t");
  const double seconds = row["time_ms"].get<double>() / 1000;
  EXPECT_NEAR(row["images_per_s"].get<double>() * seconds, 3, 0.01);
  // 4 tokens of ViT3-T: 2 x (12 x 4 x (12 x 192^2 + 10 x 192 x 32 + 18 x 32 + 9 x 192)
  //                         + 3 x 1024 x 192 + 192 x 1000) operations a picture.
  EXPECT_NEAR(row["gflops"].get<double>() * seconds, 3 * 0.05015, 0.002);
  EXPECT_NEAR(row["roofline_share"].get<double>(),
              row["gflops"].get<double>() / row["roofline_gflops"].get<double>(), 1e-4);
  EXPECT_EQ(all.back()["rooflines"].size(), 1U);
  if (row["memory_mib"].is_number()) {
    EXPECT_LE(row["memory_mib"].get<double>(), row["peak_memory_mib"].get<double>());
  }
}

TEST(Bench, RowsOfNovelViewsAddUp) {
  const std::vector<Json> all = jsonl_rows(lvsm({"--batch", "3"}));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(values(all, "case"), (std::set<Json>{"reconstruct", "render"}));
  EXPECT_EQ(values(all, "kind"), std::set<Json>{"model"});
  EXPECT_EQ(values(all, "batch"), std::set<Json>{3});
  // 8 tokens a view of dim 32. A block: attention 8 x 32^2 + 4 x 8 x 32, MLP 4 x 32 x 128, fast
  // weights of 2 heads and hidden width 32: apply 4 x 32^2 + 6 x 32 x 32, gradient
  // 4 x 32^2 + 6 x 2 x 32 + 12 x 32 x 32, Newton-Schulz 3 x 2 x 5 x (3 x 16^2 x 32 + 16^3).
  const double attention = 9216, mlp = 16384, apply = 10240, gradient = 16768, once = 860160;
  const double expected[] = {
      // The last block ends with its gradient.
      24 * (2 * 12 * 16 * 32 + 2 * (attention + gradient) + apply + mlp) + 2 * once,
      24 * (2 * 9 * 16 * 32 + 2 * (attention + apply + mlp) + 2 * 3 * 16 * 32)};
  for (std::size_t i = 0; i < 2; ++i) {
    const double seconds = all[i]["time_ms"].get<double>() / 1000;
    EXPECT_NEAR(all[i]["gflops"].get<double>() * seconds * 1e9 / expected[i], 1, 1e-3) << i;
    EXPECT_NEAR(all[i]["images_per_s"].get<double>() * seconds, 3, 0.01);
  }
}

TEST(Bench, NovelViewsInBfloat16AndOtherMistakes) {
  const std::vector<Json> all = jsonl_rows(lvsm({"--case", "rend*", "--dtype", "bf16"}));
  EXPECT_EQ(values(all, "case"), std::set<Json>{"render"});
  EXPECT_EQ(values(all, "dtype"), std::set<Json>{"bf16"});
  expect_error(run_ttt(lvsm({"--size", "18"})), 2, "18x18", "multiples of 4");
  expect_error(run_ttt(lvsm({"--pass", "training"})), 2, "aren't measured", "ttt train");
  expect_error(run_ttt({"bench", "-m", "lact_l14_d768_ttt2x", "--size", "12"}), 2, "12x12",
               "multiples of 8");
}

TEST(Bench, SweepsMeasureEveryCombination) {
  const std::vector<Json> all = jsonl_rows(vit(
      {"--size", "32x48", "--batch", "1", "--batch", "2", "-t", "1", "-t", "2", "--pass", "both"}));
  EXPECT_EQ(all.size(), 2 * 2 * 2 * 2 + 1U);
  EXPECT_EQ(values(all, "batch").size(), 2U);
  EXPECT_EQ(values(all, "height"), (std::set<Json>{32, 48}));
  EXPECT_EQ(values(all, "threads").size(), 2U);
  EXPECT_EQ(values(all, "pass").size(), 2U);
}

TEST(Bench, EveryOperationHasCallsOfRealModels) {
  std::set<Json> expected;
  for (const ops::Op& op : ops::registry())
    for (const ops::OpCase& op_case : op.cases())
      if (op_case.large) expected.insert(op.name);
  EXPECT_EQ(expected.size(), ops::registry().size());
}

TEST(Bench, FormatsHoldTheSame) {
  const Json document = Json::parse(run_ttt(rope({"--format", "json"})).out);
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["results"].size(), 1U);
  EXPECT_EQ(document["summary"]["command"], "bench");
  std::istringstream csv(run_ttt(rope({"--format", "csv"})).out);
  std::string header, line;
  std::getline(csv, header);
  std::getline(csv, line);
  EXPECT_TRUE(header.starts_with("kind,name,case,pass,backend")) << header;
  EXPECT_TRUE(line.starts_with("op,rope_2d,")) << line;
  EXPECT_EQ(std::count(header.begin(), header.end(), ','),
            std::count(line.begin(), line.end(), ','));
  const ProgramResult table = run_ttt(rope());
  EXPECT_TRUE(contains(table.out, "median")) << table.out;
  EXPECT_TRUE(contains(table.out, "rope_2d " + first_rope_case())) << table.out;
}

TEST(Bench, MistakesAreUsageErrors) {
  expect_error(run_ttt({"bench", "--op", "rope_3d"}), 2, "unknown operation \"rope_3d\"",
               "rope_2d");
  expect_error(run_ttt({"bench", "--op", "rope_2d", "--case", "no such"}), 2, "no such");
  expect_error(run_ttt(rope({"--case", "no such"})), 2, "--case no such", "shows the names");
  expect_error(run_ttt(vit({"--case", "b2*"})), 2, "no calls to choose from", "--case");
  expect_error(run_ttt(lvsm({"--case", "b2*"})), 2, "has such a name", "reconstruct and render");
  expect_error(run_ttt(lvsm({"--model", "vit3_t"})), 3, "not of vit3_t", "--model");
  expect_error(run_ttt(vit({"--threshold", "0.5"})), 2, "only --compare", "leave it out");
  expect_error(run_ttt({"bench", "--model", "vit_t"}), 2, "vit_t", "vit3_t");
  expect_error(run_ttt(vit({"--size", "33"})), 2, "33", "32");
  expect_error(run_ttt(vit({"--size", "32*32"})), 2, "--size");
  expect_error(run_ttt(vit({"--batch", "0"})), 2, "--batch");
  expect_error(run_ttt(vit({"--batch", "8,16"})), 2, "--batch");
  expect_error(run_ttt(vit({"--threads", "-1"})), 2, "--threads");
  expect_error(run_ttt(vit({"--threads", "100000"})), 2, "--threads");
  expect_error(run_ttt(vit({"--repetitions", "0"})), 2, "--repetitions");
  expect_error(run_ttt(vit({"--dtype", "fp8"})), 2, "fp8", "bf16");
  expect_error(run_ttt(vit({"--backend", "gpu"})), 2, "gpu");
  expect_error(run_ttt(rope({"--size", "224"})), 2, "no model is measured", "--model");
  expect_error(run_ttt(rope({"--batch", "2"})), 2, "no model is measured", "--model");
  expect_error(run_ttt(rope({"-o", "x.json", "--format", "csv"})), 2, "contradicts");
}

TEST(Bench, ANameWithoutItsFlagSaysWhatToType) {
  const TempDir folder;
  const std::string good = write_bench_result(folder, "good.jsonl", {1});
  expect_error(run_ttt({"bench", "vit3_t"}), 2, "vit3_t is a model, not a result file",
               "`ttt bench --model vit3_t`");
  expect_error(run_ttt({"bench", "vittt_tiny"}), 2, "is a model", "--model vittt_tiny`");
  expect_error(run_ttt({"bench", "lact_l24_d768_ttt2x"}), 2, "is a model",
               "--model lact_l24_d768_ttt2x`");
  expect_error(run_ttt({"bench", "rope_2d"}), 2, "rope_2d is an operation",
               "`ttt bench --op rope_2d`");
  expect_error(run_ttt({"bench", "rope_2d", "linear"}), 2, "rope_2d is an operation",
               "--op rope_2d");
  expect_error(run_ttt({"bench", good, "rope_2d"}), 2, "rope_2d is an operation", "--op rope_2d");
  expect_error(run_ttt({"bench", "vit3t"}), 2, "no result file \"vit3t\"", "--model vit3_t`");
  expect_error(run_ttt({"bench", "anything"}), 2, "two files, not 1", "--model NAME");
  // A folder of that name is no result either; a file is.
  std::filesystem::create_directory(folder / "vit3_t");
  const auto run_there = [&](std::vector<std::string> arguments) {
    return run_ttt(ProgramCall{.arguments = std::move(arguments), .directory = folder.path()});
  };
  expect_error(run_there({"bench", "vit3_t"}), 2, "vit3_t is a model", "--model vit3_t`");
  write_bench_result(folder, "rope_2d", {1});
  EXPECT_EQ(run_there({"bench", "rope_2d", "good.jsonl"}).code, 0);
  expect_error(run_ttt({"bench", good, "rope_2d.json"}), 4, "can't read", "check the name");
}

/// Of two rows of one subject, --compare couldn't tell which is meant.
TEST(Bench, MeasuresEachSubjectOnce) {
  const auto rows = [](const Arguments& arguments) { return jsonl_rows(arguments).size() - 1; };
  const std::size_t once = rows(rope({"-t", "1"}));
  EXPECT_EQ(rows(rope({"-t", "1", "-t", "1", "--dtype", "fp32", "--dtype", "float32"})), once);
  EXPECT_EQ(rows(rope({"--op", "rope_2d", "--backend", "auto", "--backend", "cpu"})), once);
  EXPECT_EQ(rows(vit({"-m", "vittt_tiny", "--size", "32x32", "-b", "1", "-b", "01"})), 1U);
  EXPECT_EQ(rows(lvsm({"--size", "16,8", "--case", "render", "--case", "re*r"})), 1U);
}

TEST(Bench, OtherErrorsHaveTheirCodes) {
  const TempDir folder;
  write_text_file(folder / "bad.safetensors", "nothing");
  expect_error(run_ttt({"bench", "-w", folder / "bad.safetensors"}), 3, "bad.safetensors");
  expect_error(run_ttt({"bench", "-w", folder / "none.safetensors"}), 3, "none.safetensors");
  expect_error(run_ttt(rope({"--backend", "cpu", "--dtype", "fp16"})), 7, "nothing to measure",
               "ttt list ops");
  expect_error(run_ttt(rope({"--device", "cuda:99"})), 7, "");
}

TEST(Bench, WhatNeedsTooMuchMemoryIsARowWithItsError) {
  const ProgramResult result =
      run_ttt(vit({"--size", "16384", "--batch", "64", "--format", "jsonl", "-q"}));
  EXPECT_EQ(result.code, 6) << result.err;
  const std::vector<Json> all = result.json_lines();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0]["status"], "ok") << "32x32 is measured all the same";
  EXPECT_EQ(all[1]["status"], "error");
  EXPECT_TRUE(contains(all[1]["error"].get<std::string>(), "MiB"));
  EXPECT_EQ(all.back()["counts"]["failed"], 1);
  EXPECT_TRUE(contains(result.err, "hint: use a smaller --batch or --size")) << result.err;
}

TEST(Bench, AnInterruptedSubjectIsNotAFailedOne) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const ProgramResult result =
        run_ttt(ProgramCall{.arguments = lvsm({"--case", "reconstruct", "--size", "64", "-b", "1",
                                               "-b", "64", "-r", "40", "--format", "jsonl", "-q"}),
                            .signal_after_lines = 1,
                            .signal_number = signal});
    EXPECT_EQ(result.code, 130) << result.err;
    const std::vector<Json> all = result.json_lines();
    EXPECT_EQ(values(all, "status"), std::set<Json>{"ok"});
    EXPECT_EQ(all.back()["counts"]["failed"], 0);
    EXPECT_GE(all.back()["counts"]["not_done"], 1);
    EXPECT_EQ(all.back()["interrupted"], true);
  }
}

TEST(BenchCompare, ReadsWhatBenchWrites) {
  const TempDir folder;
  ASSERT_EQ(run_ttt(rope({"-o", folder / "a.json"})).code, 0);
  ASSERT_EQ(run_ttt(rope({"-o", folder / "b.jsonl"})).code, 0);
  const ProgramResult result =
      run_ttt({"bench", "--compare", folder / "a.json", folder / "b.jsonl", "--threshold", "1000"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "1 compared")) << result.out;
  EXPECT_FALSE(contains(result.err, "different machines")) << result.err;
}

TEST(Bench, FlagsHaveAnEffect) {
  for (const auto& [flag, effect] : bench_effects()) {
    SCOPED_TRACE("--" + flag);
    effect();
  }
}

void add_subject_effects(std::map<std::string, Effect>& effects) {
  effects["op"] = [] { EXPECT_EQ(values(jsonl_rows(rope()), "name"), std::set<Json>{"rope_2d"}); };
  effects["case"] = [] {
    EXPECT_EQ(values(jsonl_rows(rope()), "case"), std::set<Json>{first_rope_case()});
    EXPECT_GT(jsonl_rows(rope({"--case", "*", "--warm-up", "0"})).size(), 3U);
    EXPECT_EQ(values(jsonl_rows(lvsm({"--case", "render"})), "case"), std::set<Json>{"render"});
  };
  effects["model"] = [] { EXPECT_EQ(values(jsonl_rows(vit()), "name"), std::set<Json>{"vit3_t"}); };
  effects["weights"] = [] {
    TTT_REQUIRE_SHARED("golden/vision/vit3_tiny32.safetensors");
    const std::string weights = shared("golden/vision/vit3_tiny32.safetensors");
    const auto all = jsonl_rows({"bench", "-w", weights, "--size", "32", "-r", "1"});
    EXPECT_EQ(values(all, "kind"), std::set<Json>{"model"});
    EXPECT_NE(values(all, "name"), std::set<Json>{"vit3_t"});
  };
  effects["pass"] = [] {
    EXPECT_EQ(values(jsonl_rows(rope()), "pass"), std::set<Json>{"forward"});
    EXPECT_EQ(values(jsonl_rows(rope({"--pass", "training"})), "pass"), std::set<Json>{"training"});
  };
}

void add_sweep_effects(std::map<std::string, Effect>& effects) {
  effects["size"] = [] {
    const auto all = jsonl_rows(vit({"--size", "48x64"}));
    EXPECT_EQ(values(all, "width"), (std::set<Json>{32, 48}));
  };
  effects["batch"] = [] {
    EXPECT_EQ(values(jsonl_rows(vit({"-b", "5"})), "batch"), std::set<Json>{5});
  };
  effects["dtype"] = [] {
    EXPECT_EQ(values(jsonl_rows(rope({"--dtype", "bf16", "--dtype", "fp32"})), "dtype"),
              (std::set<Json>{"bf16", "fp32"}));
  };
  effects["backend"] = [] {
    EXPECT_EQ(values(jsonl_rows(rope({"--backend", "cpu", "--backend", "reference"})), "backend"),
              (std::set<Json>{"cpu", "reference"}));
  };
  effects["threads"] = [] {
    EXPECT_EQ(values(jsonl_rows(rope({"-t", "1", "-t", "2"})), "threads"), (std::set<Json>{1, 2}));
  };
  effects["cuda-graph"] = [] {
    EXPECT_EQ(jsonl_rows(rope()).back()["cuda_graph"], "auto");
    EXPECT_EQ(jsonl_rows(rope({"--cuda-graph", "off"})).back()["cuda_graph"], "off");
    expect_error(run_ttt(vit({"--device", "cpu", "--cuda-graph", "on"})), 7, "need a GPU",
                 "--cuda-graph auto");
  };
  effects["device"] = [] {
    EXPECT_EQ(values(jsonl_rows(rope({"--device", "cpu"})), "device"), std::set<Json>{"cpu"});
  };
  effects["warm-up"] = [] {
    // Without one the first pass is a sample of its own.
    EXPECT_EQ(values(jsonl_rows(rope({"--warm-up", "0"})), "passes_per_sample"), std::set<Json>{1});
    EXPECT_NE(values(jsonl_rows(rope({"--warm-up", "2"})), "passes_per_sample"), std::set<Json>{1});
  };
  effects["repetitions"] = [] {
    EXPECT_EQ(values(jsonl_rows(rope({"-r", "7"})), "samples"), std::set<Json>{7});
  };
}

}  // namespace

std::map<std::string, Effect> bench_effects() {
  std::map<std::string, Effect> effects;
  add_general_effects(effects, rope());
  add_result_file_effects(effects, rope());
  add_subject_effects(effects);
  add_sweep_effects(effects);
  effects["compare"] = [] {
    const TempDir folder;
    const std::string a = write_bench_result(folder, "a.jsonl", {1});
    EXPECT_TRUE(contains(run_ttt({"bench", "--compare", a, a}).out, "1 compared"));
  };
  effects["threshold"] = [] {
    const TempDir folder;
    const std::string a = write_bench_result(folder, "a.jsonl", {1});
    const std::string b = write_bench_result(folder, "b.jsonl", {1.3});
    EXPECT_EQ(run_ttt({"bench", "--compare", a, b}).code, 8);
    EXPECT_EQ(run_ttt({"bench", "--compare", a, b, "--threshold", "0.4"}).code, 0);
  };
  return effects;
}

}  // namespace ttt::test
