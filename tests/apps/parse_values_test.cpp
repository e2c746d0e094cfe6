// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/parse_values.h"

#include "core/error.h"
#include "core/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace ttt::cli {
namespace {

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_FALSE(error.hint().empty());
    return error.what();
  }
  return "no error";
}

TEST(ParseValues, IntegersAreReadWhole) {
  EXPECT_EQ(parse_integer("-7", {}, "--seed"), -7);
  for (const char* text : {"", "20abc", "1e3", "1.5", " 1", "1 ", "+1", "0x10", "--1", "nan",
                           "99999999999999999999", "１"})
    EXPECT_NE(error_of([&] { parse_integer(text, {}, "--seed"); }).find("is not a whole number"),
              std::string::npos)
        << text;
}

TEST(ParseValues, NumbersMustBeFinite) {
  EXPECT_EQ(parse_real("0.875", {}, "--crop-pct"), 0.875);
  EXPECT_EQ(parse_real("1e-3", {}, "--crop-pct"), 1e-3);
  for (const char* text : {"", "1e", "nan", "inf", "-inf", "1e999", "0,5", "1.5x", "0x1p3"})
    EXPECT_NE(error_of([&] { parse_real(text, {}, "--crop-pct"); }), "no error") << text;
}

TEST(ParseValues, RangesAreCheckedAndNamed) {
  const Range range{1, 1000};
  EXPECT_EQ(parse_integer("1", range, "--top-k"), 1);
  EXPECT_EQ(parse_integer("1000", range, "--top-k"), 1000);
  for (const char* text : {"0", "1001", "-5"}) {
    try {
      parse_integer(text, range, "--top-k");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.where(), "--top-k");
      EXPECT_NE(error.hint().find("from 1 to 1000"), std::string::npos) << error.hint();
    }
  }
}

TEST(ParseValues, Sizes) {
  EXPECT_EQ(parse_size("224x192", ""), (PixelSize{224, 192}));
  EXPECT_EQ(parse_size("224X192", ""), (PixelSize{224, 192}));
  EXPECT_EQ(parse_size("224,192", ""), (PixelSize{224, 192}));
  EXPECT_EQ(parse_size("224", ""), (PixelSize{224, 224}));
  for (const char* text : {"", "224*192", "224x", "x224", "224x192x3", "-224x224", "0x0", "1e3x4",
                           "224 x 192", "99999x1", "224x99999999999"})
    EXPECT_NE(error_of([&] { parse_size(text, "--size"); }), "no error") << text;
}

TEST(ParseValues, Triples) {
  EXPECT_EQ(parse_triple("0.1,0.2,0.3", {}, ""), (std::array<double, 3>{0.1, 0.2, 0.3}));
  EXPECT_EQ(parse_triple("0.5", {}, ""), (std::array<double, 3>{0.5, 0.5, 0.5}));
  for (const char* text : {"", "1,2", "1,2,3,4", "1,,3", "1;2;3", "1,2,x"})
    EXPECT_NE(error_of([&] { parse_triple(text, {}, "--mean"); }), "no error") << text;
}

TEST(ParseValues, Booleans) {
  for (const char* text : {"true", "yes", "on", "1"}) EXPECT_TRUE(parse_boolean(text, ""));
  for (const char* text : {"false", "no", "off", "0"}) EXPECT_FALSE(parse_boolean(text, ""));
  EXPECT_NE(error_of([] { parse_boolean("maybe", "--tf32"); }), "no error");
}

TEST(NearestName, EditsAndSwapsCountAlike) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("weights", "weihgts"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(NearestName, SuggestsOnlyWhatIsClose) {
  const std::vector<std::string> names{"top-k", "weights", "batch", "size", "no-tf32"};
  EXPECT_EQ(nearest_name("topk", names), "top-k");
  EXPECT_EQ(nearest_name("weihgts", names), "weights");
  EXPECT_EQ(nearest_name("batch-size", names), "batch");
  EXPECT_EQ(nearest_name("img-size", names), "size");
  EXPECT_EQ(nearest_name("wei", names), "weights");
  EXPECT_EQ(nearest_name("quantise", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'a'), names), "");
}

}  // namespace
}  // namespace ttt::cli
