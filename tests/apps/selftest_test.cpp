// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/registry.h"
#include "kernels/support/cpu_isa.h"
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

/// The cheapest self-test: one op.
Arguments rope(const Arguments& more = {}) {
  return plus({"selftest", "--op", "rope_2d"}, more);
}

/// Values of a field over the comparisons among the rows.
std::set<std::string> values(const std::vector<Json>& all, const std::string& field) {
  std::set<std::string> found;
  for (const Json& row : all)
    if (row.contains("kind") && row["kind"] != "backend" && row[field].is_string())
      found.insert(row[field].get<std::string>());
  return found;
}

bool has_gpu() {
  return contains(run_ttt({"list", "devices"}).out, "cuda:");
}

/// The self-test linked with a kernel that has this fault; ops only.
ProgramResult run_broken(const std::string& fault, const Arguments& more = {}) {
  Arguments arguments{TTT_SELFTEST_BROKEN, "--quiet", "--backend", "cpu"};
  for (const ops::Op& op : ops::registry())
    arguments = plus(arguments, {"--op", std::string(op.name)});
  return run_program(
      {.arguments = plus(arguments, more), .environment = {{"SELFTEST_FAULT", fault}}});
}

TEST(Selftest, EverythingOnThisMachineIsRight) {
  const std::vector<Json> all = jsonl_rows({"selftest"});
  std::set<std::string> ops, models, seen;
  for (const ops::Op& op : ops::registry()) ops.insert(std::string(op.name));
  for (const Json& row : all) {
    EXPECT_EQ(row["schema"], 1);
    if (!row.contains("kind")) continue;
    if (row["kind"] == "backend") {
      EXPECT_EQ(row["status"], "unavailable");
      EXPECT_TRUE(contains(row["error"].get<std::string>(), "not available: "));
      continue;
    }
    EXPECT_EQ(row["status"], "ok") << row;
    EXPECT_FALSE(row["outputs"].empty());
    EXPECT_FALSE(row["gradients"].empty());
    for (const char* list : {"outputs", "gradients"})
      for (const Json& deviation : row[list])
        EXPECT_LE(deviation["max_error"].get<double>(), deviation["tolerance"].get<double>());
    (row["kind"] == "op" ? seen : models).insert(row["name"].get<std::string>());
  }
  EXPECT_EQ(seen, ops);
  for (const char* model : {"cifar10_vit3", "cifar10_hvit3", "vit3_t", "hvit3_t"})
    EXPECT_TRUE(models.contains(model)) << model;
  const auto isas = static_cast<std::size_t>(ops::best_cpu_isa()) + 1;
  EXPECT_EQ(values(all, "isa").size(), isas);
  const Json& summary = all.back();
  EXPECT_EQ(summary["status"], "summary");
  EXPECT_EQ(summary["passed"], true);
  EXPECT_EQ(summary["counts"]["ok"], summary["counts"]["total"]);
  for (const char* key : {"version", "commit", "libtorch", "host", "isa", "device", "threads"})
    EXPECT_TRUE(summary.contains(key)) << key;
}

TEST(Selftest, FormatsHoldTheSame) {
  const ProgramResult json = run_ttt(rope({"--format", "json"}));
  const Json document = Json::parse(json.out);
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["summary"]["command"], "selftest");
  const std::size_t count = document["results"].size();
  EXPECT_GE(count, 4U);

  std::istringstream csv(run_ttt(rope({"--format", "csv"})).out);
  std::string line;
  std::getline(csv, line);
  EXPECT_EQ(line,
            "kind,name,backend,isa,device,dtype,status,outputs_max_error,outputs_tolerance,"
            "gradients_max_error,gradients_tolerance,error\r");
  std::size_t lines = 0;
  while (std::getline(csv, line)) {
    ++lines;
    EXPECT_GE(std::count(line.begin(), line.end(), ','), 11) << line;
  }
  EXPECT_EQ(lines, count);

  const ProgramResult table = run_ttt(rope());
  EXPECT_TRUE(contains(table.out, "rope_2d                    bf16  cpu baseline")) << table.out;
  EXPECT_TRUE(contains(table.out, "checks passed in"));
  EXPECT_TRUE(contains(table.out, "not available: ") || has_gpu());
}

TEST(Selftest, MistakesAreUsageErrors) {
  expect_error(run_ttt({"selftest", "--op", "rope_3d"}), 2, "unknown operation \"rope_3d\"",
               "rope_2d");
  expect_error(run_ttt({"selftest", "--model", "vit_t"}), 2, "unknown model \"vit_t\"", "vit3_t");
  expect_error(run_ttt({"selftest", "--op", "?"}), 2, "unknown operation", "ttt_gated_linear");
  expect_error(run_ttt(rope({"--backend", "gpu"})), 2, "gpu", "cuda");
  expect_error(run_ttt(rope({"--dtype", "fp8"})), 2, "fp8", "fp16");
  expect_error(run_ttt(rope({"--device", "tpu"})), 2, "tpu", "cpu");
  expect_error(run_ttt({"selftest", "rope_2d"}), 2, "superfluous argument");
  expect_error(run_ttt(rope({"-o", "x.json", "--format", "csv"})), 2, "contradicts");
}

TEST(Selftest, AWrongInstructionSetIsRefusedBeforeTheChecks) {
  const ProgramResult result =
      run_ttt(ProgramCall{.arguments = rope(), .environment = {{"TTT_CPU_ISA", "sse9"}}});
  expect_error(result, 2, "sse9", "use baseline, avx2 or avx512");
}

TEST(Selftest, WhatIsDemandedAndAbsentExitsWithSeven) {
  expect_error(run_ttt(rope({"--device", "cuda:99"})), 7, "");
  expect_error(run_ttt(rope({"--backend", "cuda", "--device", "cpu"})), 7, "needs a GPU",
               "--device");
  expect_error(run_ttt(rope({"--backend", "cpu", "--dtype", "fp16"})), 7, "nothing to check",
               "ttt list ops");
  if (!has_gpu()) {
    expect_error(run_ttt(rope({"--backend", "cuda"})), 7, "GPU");
    expect_error(run_ttt(rope({"--device", "cuda"})), 7, "GPU", "--device");
  }
}

struct Fault {
  std::string name, op, error;
};

class BrokenKernel : public testing::TestWithParam<Fault> {};

TEST_P(BrokenKernel, IsFoundAndNamedAlone) {
  const Fault& fault = GetParam();
  const ProgramResult result = run_broken(fault.name, {"--format", "jsonl"});
  EXPECT_EQ(result.code, 8) << result.err;
  std::set<std::string> failed;
  for (const Json& row : result.json_lines()) {
    if (!row.contains("kind") || row["status"] != "error") continue;
    failed.insert(row["name"].get<std::string>());
    EXPECT_TRUE(contains(row["error"].get<std::string>(), fault.error)) << row;
  }
  EXPECT_EQ(failed, std::set<std::string>{fault.op});
  const Json summary = result.json_lines().back();
  EXPECT_EQ(summary["passed"], false);
  EXPECT_EQ(summary["failed"], std::vector<std::string>{fault.op});
  // "error: …" and "hint: …", with op, backend, type and what was measured.
  std::istringstream lines(result.err);
  std::string error, hint, more;
  std::getline(lines, error);
  std::getline(lines, hint);
  EXPECT_TRUE(error.starts_with("error: ")) << result.err;
  EXPECT_TRUE(hint.starts_with("hint: ")) << result.err;
  EXPECT_FALSE(std::getline(lines, more)) << result.err;
  EXPECT_TRUE(contains(error, fault.op + ", cpu ")) << error;
  EXPECT_TRUE(contains(error, "fp32") || contains(error, "bf16")) << error;
  EXPECT_TRUE(contains(error, fault.error)) << error;
  for (const ops::Op& op : ops::registry())
    EXPECT_TRUE(op.name == fault.op || !contains(error, " " + std::string(op.name) + ",")) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, BrokenKernel,
    testing::Values(Fault{"value", "depthwise_conv3x3", "outputs: error 0.0002, tolerance 1e-05"},
                    Fault{"nan", "rope_2d", "not finite"},
                    Fault{"infinity", "rope_2d", "not finite"},
                    Fault{"throw", "ttt_depthwise", "the kernel gave up"},
                    Fault{"input", "ttt_depthwise", "input 0 was changed"},
                    Fault{"backward", "ttt_gated_linear", "gradients: error 0.00"},
                    Fault{"baseline", "ttt_gated_linear", "outputs: error "}),
    [](const auto& test) { return test.param.name; });

TEST(BrokenKernel, OfOneInstructionSetIsTheOnlyRowThatFails) {
  for (const Json& row : run_broken("baseline", {"--format", "jsonl"}).json_lines()) {
    if (!row.contains("kind") || row["kind"] == "backend") continue;
    const bool broken =
        row["name"] == "ttt_gated_linear" && row["isa"] == "baseline" && row["dtype"] == "fp32";
    EXPECT_EQ(row["status"], broken ? "error" : "ok") << row;
  }
}

TEST(BrokenKernel, WithoutItsFaultPasses) {
  const ProgramResult result = run_broken("none");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST(BrokenKernel, IsShownInEveryFormat) {
  const ProgramResult table = run_broken("nan");
  EXPECT_EQ(table.code, 8);
  EXPECT_TRUE(contains(table.out, "inf (1e-05)")) << table.out;
  EXPECT_TRUE(contains(table.out, "FAILED\n  outputs: error inf")) << table.out;
  const Json document = Json::parse(run_broken("nan", {"--format", "json"}).out);
  int nulls = 0;
  for (const Json& row : document["results"])
    if (row["name"] == "rope_2d" && row["outputs"][0]["max_error"].is_null()) ++nulls;
  EXPECT_GT(nulls, 0);
  const ProgramResult csv = run_broken("throw", {"--format", "csv"});
  EXPECT_TRUE(contains(csv.out, ",error,")) << csv.out;
  EXPECT_TRUE(contains(csv.out, "the kernel gave up")) << csv.out;
}

/// What the checks of a model say on standard error when a kernel is broken.
std::string error_of_broken_model(const char* fault) {
  const ProgramResult result =
      run_program({.arguments = {TTT_SELFTEST_BROKEN, "-q", "--model", "cifar10_hvit3", "--dtype",
                                 "fp32", "--format", "jsonl"},
                   .environment = {{"SELFTEST_FAULT", fault}}});
  EXPECT_EQ(result.code, 8) << result.err;
  EXPECT_TRUE(contains(result.err, "cifar10_hvit3, cpu ")) << result.err;
  return result.err;
}

TEST(BrokenKernel, FailsAModelMadeOfIt) {
  error_of_broken_model("value");
}

/// Models are checked as pictures are classified: with packed weights.
TEST(BrokenKernel, OfPackedWeightsFailsAModel) {
  const std::string error = error_of_broken_model("rows");
  EXPECT_TRUE(contains(error, "outputs")) << error;
}

TEST(BrokenKernel, WritesItsWholeResultFile) {
  const TempDir folder;
  const ProgramResult result = run_broken("value", {"-o", folder / "result.json"});
  EXPECT_EQ(result.code, 8);
  EXPECT_EQ(result.out, "");
  const Json document = Json::parse(read_text_file(folder / "result.json"));
  EXPECT_EQ(document["summary"]["passed"], false);
  EXPECT_GT(document["summary"]["counts"]["ok"], 0);
  EXPECT_EQ(Json::parse(read_text_file(folder / "result.json.run.json"))["status"], "complete");
}

TEST(BrokenKernel, IsNotInTheShippedProgram) {
  EXPECT_TRUE(contains(read_text_file(TTT_SELFTEST_BROKEN), "SELFTEST_FAULT"));
  EXPECT_FALSE(contains(read_text_file(ttt_path()), "SELFTEST_FAULT"));
}

TEST(Selftest, InterruptEndsItWithASummary) {
  const ProgramResult result = run_ttt(ProgramCall{
      .arguments = {"selftest", "--quiet", "--format", "jsonl"}, .signal_after_lines = 1});
  EXPECT_EQ(result.code, 130) << result.err;
  const Json summary = result.json_lines().back();
  EXPECT_EQ(summary["interrupted"], true);
  EXPECT_EQ(summary["passed"], false);
  EXPECT_GT(summary["counts"]["not_done"], 0);
  EXPECT_TRUE(contains(result.err, "interrupted, "));
}

TEST(Selftest, FlagsHaveAnEffect) {
  for (const auto& [flag, effect] : selftest_effects()) {
    SCOPED_TRACE("--" + flag);
    effect();
  }
}

void add_check_effects(std::map<std::string, Effect>& effects) {
  effects["op"] = [] {
    EXPECT_EQ(values(jsonl_rows(rope()), "name"), std::set<std::string>{"rope_2d"});
    EXPECT_EQ(values(jsonl_rows(rope({"--op", "ttt_depthwise"})), "name"),
              (std::set<std::string>{"rope_2d", "ttt_depthwise"}));
  };
  effects["model"] = [] {
    const auto all = jsonl_rows({"selftest", "-m", "cifar10_vit3"});
    EXPECT_EQ(values(all, "name"), std::set<std::string>{"cifar10_vit3"});
    EXPECT_EQ(values(all, "dtype"), (std::set<std::string>{"fp32", "bf16"}));
  };
  effects["backend"] = [] {
    EXPECT_EQ(values(jsonl_rows(rope({"--backend", "cpu"})), "backend"),
              std::set<std::string>{"cpu"});
    const auto reference = jsonl_rows(rope({"--backend", "reference"}));
    EXPECT_EQ(values(reference, "backend"), std::set<std::string>{"reference"});
    EXPECT_EQ(reference.size(), 4U) << "three types and the summary";
    expect_error(run_ttt({"selftest", "--model", "vit3_t", "--backend", "reference"}), 7,
                 "nothing to check");
  };
  effects["dtype"] = [] {
    EXPECT_EQ(values(jsonl_rows(rope({"--dtype", "bf16"})), "dtype"),
              std::set<std::string>{"bf16"});
    EXPECT_EQ(values(jsonl_rows(rope({"--dtype", "fp16"})), "backend"),
              std::set<std::string>{"reference"});
    EXPECT_EQ(values(jsonl_rows(rope()), "dtype").size(), 3U);
  };
  effects["full"] = [] {
    const auto cases = [](const Arguments& more) {
      return jsonl_rows(rope(plus({"--backend", "cpu", "--dtype", "fp32"}, more)))[0]["cases"]
          .get<int>();
    };
    EXPECT_GT(cases({"--full"}), cases({}));
  };
}

}  // namespace

std::map<std::string, Effect> selftest_effects() {
  std::map<std::string, Effect> effects;
  add_general_effects(effects, rope());
  add_result_file_effects(effects, rope());
  add_check_effects(effects);
  effects["device"] = [] {
    const auto all = jsonl_rows(rope({"--device", "cpu"}));
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const Json& row) {
      return row.contains("error") && row["error"] == "not available: --device cpu is asked for";
    }));
    EXPECT_EQ(all.back()["device"], "cpu");
  };
  effects["threads"] = [] { EXPECT_EQ(jsonl_rows(rope({"-t", "2"})).back()["threads"], 2); };
  return effects;
}

}  // namespace ttt::test
