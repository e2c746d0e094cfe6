// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/command_line.h"
#include "apps/common/help.h"
#include "apps/common/resolve.h"
#include "core/error.h"
#include "tests/apps/run_program.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ttt::cli {
namespace {

using test::contains;

/// A subcommand with one option of each type.
struct Sample {
  std::int64_t count = 5;
  std::optional<std::int64_t> threads;
  std::optional<double> crop;
  bool fast = true;
  std::string labels;
  std::string format = "table";
  std::optional<PixelSize> size;
  std::optional<std::array<double, 3>> mean;
  std::vector<std::string> input;
  std::vector<std::string> set;
  std::string config;
  std::string preset;

  OptionTable table() {
    OptionTable result("sample", "A sample.");
    result.add_integer({.name = "count", .letter = 'c', .value = "N", .help = "how many"}, count,
                       {1, 10});
    result.add_integer({.name = "threads", .letter = 't', .value = "N"}, threads, {1, 64});
    result.add_number({.name = "crop", .value = "X"}, crop, {0, 1});
    result.add_switch({.name = "fast", .letter = 'f'}, fast);
    result.add_text({.name = "labels", .value = "FILE"}, labels);
    result.add_choice({.name = "format", .value = "F"}, format, {"table", "json"});
    result.add_size({.name = "size", .value = "WxH"}, size);
    result.add_numbers({.name = "mean", .value = "R,G,B"}, mean, {0, 1});
    result.add_list({.name = "input", .letter = 'i', .value = "FILE"}, input);
    result.add_list({.name = "set", .value = "K=V"}, set);
    result.add_text({.name = "config", .value = "FILE"}, config);
    result.add_text({.name = "preset", .value = "NAME"}, preset);
    result.add_preset({"small", "few", {{"count", "2"}, {"crop", "0.5"}}});
    result.positional({"input"});
    return result;
  }
};

class Options : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"TTT_COUNT", "TTT_INPUT", "TTT_CONFIG", "TTT_FAST"}) ::unsetenv(name);
  }
  std::string config(const std::string& text) {
    const std::string path = folder_ / "config.yaml";
    test::write_text_file(path, text);
    return path;
  }
  /// what() and hint of the error, or "no error".
  std::string error(const std::vector<std::string>& arguments) {
    Sample sample;
    OptionTable table = sample.table();
    try {
      resolve_options(table, arguments);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::usage);
      EXPECT_FALSE(e.hint().empty()) << e.what();
      return e.what() + (" | " + e.hint());
    }
    return "no error";
  }
  Sample resolve(const std::vector<std::string>& arguments) {
    Sample sample;
    OptionTable table = sample.table();
    resolve_options(table, arguments);
    origins_ = options_json(table);
    return sample;
  }
  std::string origin(const std::string& name) const { return origins_[name]["origin"]; }

  test::TempDir folder_;
  nlohmann::ordered_json origins_;
};

TEST_F(Options, EveryFormOfAFlag) {
  const Sample sample = resolve({"a.jpg", "--count", "3", "-t4", "--crop=0.25", "--no-fast", "-i",
                                 "b.jpg", "--size", "32,64", "--mean=0.1,0.2,0.3", "--", "-c.jpg"});
  EXPECT_EQ(sample.count, 3);
  EXPECT_EQ(sample.threads, 4);
  EXPECT_EQ(sample.crop, 0.25);
  EXPECT_FALSE(sample.fast);
  EXPECT_EQ(sample.size, (PixelSize{32, 64}));
  EXPECT_EQ(sample.mean, (std::array<double, 3>{0.1, 0.2, 0.3}));
  EXPECT_EQ(sample.input, (std::vector<std::string>{"b.jpg", "a.jpg", "-c.jpg"}));
}

TEST_F(Options, OddFileNamesArriveUnchanged) {
  const std::vector<std::string> names{"[a,b].jpg", "a b", "x=1.jpg", "{1}",   "\xff.jpg",
                                       "-",         "%x",  "'q'",     "\"d\"", "a\\b",
                                       "/tmp/x:y",  "++x", "@list"};
  EXPECT_EQ(resolve(names).input, names);
  for (const std::string& name : names) {
    EXPECT_EQ(resolve({"-i", name}).input, std::vector<std::string>{name});
    EXPECT_EQ(resolve({"--labels", name}).labels, name);
    EXPECT_EQ(resolve({"--labels=" + name}).labels, name);
  }
}

TEST_F(Options, NegativeNumbersAreValues) {
  EXPECT_TRUE(contains(error({"--count", "-3"}), "-3 is out of range (--count)"));
}

TEST_F(Options, TheLastOfRepeatedFlagsCounts) {
  EXPECT_EQ(resolve({"--count", "3", "--set", "count=4"}).count, 4);
  EXPECT_EQ(resolve({"--set", "count=4", "--count", "3"}).count, 3);
  EXPECT_TRUE(resolve({"--no-fast", "--fast"}).fast);
  EXPECT_FALSE(resolve({"-f", "--no-fast"}).fast);
  EXPECT_TRUE(contains(error({"--count", "x", "--count", "3"}), "whole number"));
}

TEST_F(Options, LayersInOrderOfStrength) {
  const std::string path = config("count: 3\ncrop: 0.75\nlabels: from_config\n");
  ::setenv("TTT_COUNT", "4", 1);
  Sample sample = resolve({"--preset", "small", "--config", path});
  EXPECT_EQ(sample.count, 4);
  EXPECT_EQ(sample.crop, 0.75);
  EXPECT_EQ(origin("count"), "environment TTT_COUNT");
  EXPECT_EQ(origin("crop"), path + ":2");
  EXPECT_EQ(origin("format"), "default");
  sample = resolve({"--preset", "small", "--config", path, "-c", "5"});
  EXPECT_EQ(sample.count, 5);
  EXPECT_EQ(origin("count"), "command line");
  ::unsetenv("TTT_COUNT");
  EXPECT_EQ(resolve({"--preset", "small", "--config", path}).count, 3);
  EXPECT_EQ(resolve({"--preset", "small"}).count, 2);
  EXPECT_EQ(origin("count"), "preset small");
}

TEST_F(Options, AListReplacesThatOfAWeakerLayer) {
  const std::string path = config("input: [a, b]\n");
  EXPECT_EQ(resolve({"--config", path}).input, (std::vector<std::string>{"a", "b"}));
  ::setenv("TTT_INPUT", "c d\ne", 1);
  EXPECT_EQ(resolve({"--config", path}).input, (std::vector<std::string>{"c d", "e"}));
  EXPECT_EQ(resolve({"--config", path, "f"}).input, std::vector<std::string>{"f"});
}

TEST_F(Options, EnvironmentNamesItselfInErrors) {
  ::setenv("TTT_COUNT", "20abc", 1);
  EXPECT_TRUE(contains(error({}), "(TTT_COUNT)"));
  ::setenv("TTT_COUNT", "", 1);
  EXPECT_EQ(resolve({}).count, 5);
}

TEST_F(Options, ConfigFiles) {
  EXPECT_EQ(resolve({"--config", config("")}).count, 5);
  EXPECT_EQ(resolve({"--config", config("\xEF\xBB\xBF"
                                        "count: 3\r\nfast: no\r\n")})
                .count,
            3);
  EXPECT_EQ(resolve({"--config", config("mean: [0.1, 0.2, 0.3]")}).mean,
            (std::array<double, 3>{0.1, 0.2, 0.3}));
  const Sample sample = resolve({"--config", config("{\"count\": 7, \"size\": \"8x9\"}")});
  EXPECT_EQ(sample.count, 7);
  EXPECT_EQ(sample.size, (PixelSize{8, 9}));
}

TEST_F(Options, BadConfigFiles) {
  const auto config_error = [&](const std::string& text) {
    return error({"--config", config(text)});
  };
  EXPECT_TRUE(contains(config_error("coutn: 3"), "did you mean count?"));
  EXPECT_TRUE(contains(config_error("count: 3\ncount: 4"), "given twice"));
  EXPECT_TRUE(contains(config_error("count: 3\ncrop: {a: 1}"), "config.yaml:2, crop"));
  EXPECT_TRUE(contains(config_error("count: [1, 2]"), "one value"));
  EXPECT_TRUE(contains(config_error("count:"), "no value"));
  EXPECT_TRUE(contains(config_error("count: 99"), "from 1 to 10"));
  EXPECT_TRUE(contains(config_error("- a\n- b"), "not a map"));
  EXPECT_TRUE(contains(config_error("a: [1, 2"), "not valid YAML"));
  EXPECT_TRUE(contains(config_error(std::string("\0\x01\xff", 3)), "config.yaml"));
  EXPECT_TRUE(contains(config_error(std::string(20000, '[')), "not valid YAML"));
  std::string repeated = "labels: &x " + std::string(500'000, 'a') + "\ninput: [";
  for (int i = 0; i < 1000; ++i) repeated += "*x, ";
  EXPECT_TRUE(contains(config_error(repeated + "b]"), "repeat too much"));
  EXPECT_TRUE(contains(config_error("set: [a=b]"), "configuration file"));
  EXPECT_TRUE(contains(config_error("config: x"), "configuration file"));
  EXPECT_TRUE(contains(config_error(std::string(2 << 20, '#')), "1 MiB"));
  EXPECT_TRUE(contains(error({"--config", folder_ / "none.yaml"}), "none.yaml"));
  EXPECT_TRUE(contains(error({"--config", folder_.path().string()}), "--config"));
}

TEST_F(Options, ARunRecordIsAConfiguration) {
  const std::string path = config(R"({"program": "ttt", "options": {
    "count": {"value": 3, "origin": "command line"}, "crop": {"value": 0.5, "origin": "default"},
    "input": {"value": ["a", "b"], "origin": "command line"},
    "config": {"value": "x.yaml", "origin": "command line"}}})");
  const Sample sample = resolve({"--config", path});
  EXPECT_EQ(sample.count, 3);
  EXPECT_EQ(sample.crop, std::nullopt);
  EXPECT_EQ(sample.input, (std::vector<std::string>{"a", "b"}));
}

TEST_F(Options, BadArguments) {
  EXPECT_TRUE(contains(error({"--cuont", "3"}), "did you mean --count?"));
  EXPECT_TRUE(contains(error({"--no-fats"}), "did you mean --no-fast?"));
  EXPECT_TRUE(contains(error({"-x"}), "unknown flag -x"));
  EXPECT_TRUE(contains(error({"--count"}), "needs a value (--count)"));
  EXPECT_TRUE(contains(error({"--count="}), "needs a value"));
  EXPECT_TRUE(contains(error({"-c"}), "needs a value (-c)"));
  EXPECT_TRUE(contains(error({"--labels", "--count", "3"}), "needs a value (--labels)"));
  EXPECT_TRUE(contains(error({"--labels", "-c", "3"}), "needs a value (--labels)"));
  EXPECT_TRUE(contains(error({"--count", "0"}), "from 1 to 10"));
  EXPECT_TRUE(contains(error({"--format", "jsn"}), "did you mean json?"));
  EXPECT_TRUE(contains(error({"--fast=perhaps"}), "(--fast)"));
  EXPECT_TRUE(contains(error({"--set", "count"}), "not key=value"));
  EXPECT_TRUE(contains(error({"--set", "conut=3"}), "did you mean count?"));
  EXPECT_TRUE(contains(error({"--set", "count=many"}), "--set count=many"));
  EXPECT_TRUE(contains(error({"--preset", "smal"}), "did you mean small?"));
  EXPECT_TRUE(contains(error({"--\xff\n"}), "\\xFF\\x0A"));
  EXPECT_TRUE(contains(error({"--" + std::string(100000, 'a')}), "unknown flag"));
}

TEST_F(Options, HelpIsFoundAnywhere) {
  EXPECT_EQ(help_requested({"a", "--bad", "-h"}), HelpRequest::brief);
  EXPECT_EQ(help_requested({"--help", "all"}), HelpRequest::full);
  EXPECT_EQ(help_requested({"--help=all"}), HelpRequest::full);
  EXPECT_EQ(help_requested({"--", "--help"}), HelpRequest::none);
}

TEST_F(Options, HelpShowsRangesDefaultsAndVariables) {
  Sample sample;
  const std::string text = help_text(sample.table(), true);
  EXPECT_TRUE(contains(text, "-c, --count N"));
  EXPECT_TRUE(contains(text, "from 1 to 10; default: 5; TTT_COUNT")) << text;
}

}  // namespace
}  // namespace ttt::cli
