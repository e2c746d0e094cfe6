// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/run_program.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>

namespace ttt::test {
namespace {

// Starting the program takes a third of a second, so cases of one kind share a test.

TEST(Program, NoArgumentsGiveAShortUsage) {
  const ProgramResult result = run_ttt(std::vector<std::string>{});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(result.err.starts_with("usage: ttt"));
}

TEST(Program, VersionNamesWhatItWasBuiltFrom) {
  const ProgramResult result = run_ttt({"--version"});
  EXPECT_EQ(result.code, 0);
  for (const char* word :
       {"ttt ", "commit ", "LibTorch ", "CUDA ", "cuDNN ", "compiler ", "architectures "})
    EXPECT_TRUE(contains(result.out, word)) << word;
  EXPECT_EQ(result.err, "");
}

// OpenMP says what it has read when it was loaded; other runtimes than GNU's have no such setting.
TEST(Program, OpenMpThreadsDontSpinForLong) {
  const std::map<std::string, std::string> report{{"OMP_DISPLAY_ENV", "verbose"},
                                                  {"OMP_WAIT_POLICY", ""}};
  const ProgramResult result = run_ttt({.arguments = {"--version"}, .environment = report});
  if (!contains(result.err, "GOMP_SPINCOUNT")) GTEST_SKIP() << "not GNU's OpenMP";
  EXPECT_TRUE(contains(result.err, "GOMP_SPINCOUNT = '2000'")) << result.err;
  auto chosen = report;
  chosen["GOMP_SPINCOUNT"] = "77";
  EXPECT_TRUE(contains(run_ttt({.arguments = {"--version"}, .environment = chosen}).err,
                       "GOMP_SPINCOUNT = '77'"));
}

TEST(Program, HelpGoesToStandardOutput) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--help"},
                                             {"help", "all"},
                                             {"list", "-h"},
                                             {"list", "--bogus", "--help", "all"},
                                             {"help", "list"}}) {
    const ProgramResult result = run_ttt(arguments);
    EXPECT_EQ(result.code, 0);
    EXPECT_TRUE(contains(result.out, "usage: ttt"));
    EXPECT_EQ(result.err, "");
  }
}

TEST(Program, MistakesNameTheNearestWord) {
  expect_error(run_ttt({"lits"}), 2, "unknown command \"lits\"", "`ttt list`");
  expect_error(run_ttt({"--verison"}), 2, "unknown flag \"--verison\"", "");
  expect_error(run_ttt({"list", "--fromat", "json"}), 2, "unknown flag --fromat", "--format");
  expect_error(run_ttt({"list", "devcies"}), 2, "unknown value \"devcies\"", "devices");
}

TEST(Program, OutputErrorsExitWithFive) {
  const ProgramResult full =
      run_ttt(ProgramCall{.arguments = {"--version"}, .output_path = "/dev/full"});
  expect_error(full, 5, "No space left on device (standard output)");
  const ProgramResult closed = run_ttt(ProgramCall{.arguments = {"--help"}, .close_stdout = true});
  expect_error(closed, 5, "standard output");
}

TEST(Program, AReaderThatGoesAwayIsNoError) {
  const ProgramResult result =
      run_program({.arguments = {"/bin/sh", "-c",
                                 "(sleep 1; '" + ttt_path() +
                                     "' list options --format json; echo $? >&2) | true"}});
  EXPECT_EQ(result.err, "5\n");
}

TEST(Program, VerboseAndLogFile) {
  const TempDir folder;
  const std::string log = folder / "log.txt";
  const ProgramResult result = run_ttt({"list", "backends", "--verbose", "--log-file", log});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(contains(result.err, "debug: ttt 0."));
  EXPECT_TRUE(contains(read_text_file(log), "list backends"));
  const ProgramResult failed = run_ttt({"list", "x", "-v"});
  EXPECT_TRUE(contains(failed.err, "debug: thrown in ")) << failed.err;
  expect_error(run_ttt({"list", "--log-file", folder.path()}), 5, "log file");
  expect_error(run_ttt({"list", "-v", "-q"}), 2, "--verbose and --quiet");
}

TEST(Program, ColourOnlyWhereAskedFor) {
  EXPECT_FALSE(contains(run_ttt({"list", "x"}).err, "\x1b"));
  EXPECT_TRUE(contains(run_ttt({"list", "-v", "--color", "always"}).err, "\x1b"));
  EXPECT_FALSE(contains(run_ttt(ProgramCall{.arguments = {"list", "-v", "--color", "auto"},
                                            .environment = {{"NO_COLOR", "1"}}})
                            .err,
                        "\x1b"));
}

TEST(Program, PrintConfigShowsOrigins) {
  const ProgramResult result =
      run_ttt(ProgramCall{.arguments = {"list", "--set", "topic=devices", "--print-config"},
                          .environment = {{"TTT_FORMAT", "json"}}});
  EXPECT_EQ(result.code, 0);
  const auto config = nlohmann::json::parse(result.out);
  EXPECT_EQ(config["options"]["topic"]["value"], "devices");
  EXPECT_EQ(config["options"]["topic"]["origin"], "command line");
  EXPECT_EQ(config["options"]["format"]["origin"], "environment TTT_FORMAT");
  EXPECT_EQ(config["options"]["color"]["origin"], "default");
}

}  // namespace
}  // namespace ttt::test
