// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/weights_metadata.h"

#include "core/error.h"

#include <gtest/gtest.h>

namespace ttt::vision {
namespace {

std::string preprocess(const std::string& name, const std::string& value) {
  std::string text = "{";
  for (const auto& [key, good] : {std::pair<std::string, std::string>{"width", "224"},
                                  {"height", "192"},
                                  {"crop_pct", "0.875"},
                                  {"resize", "\"cover\""},
                                  {"mean", "[0.4, 0.5, 0.6]"},
                                  {"std", "[0.2, 0.2, 0.3]"}})
    text += (text.size() > 1 ? ", \"" : "\"") + key + "\": " + (key == name ? value : good);
  return text + "}";
}

std::optional<PreprocessOptions> read(const std::string& text) {
  return read_preprocess_metadata({{"ttt.preprocess", text}}, "file");
}

TEST(WeightsMetadata, WhatIsWrittenIsRead) {
  PreprocessOptions options;
  options.width = 65536;
  options.rule = ResizeRule::squash;
  options.mean = {-0.5F, 0, 127.5F};
  Metadata metadata;
  write_preprocess_metadata(metadata, options);
  write_label_metadata(metadata, {"cat", "dog"});
  const auto found = read_preprocess_metadata(metadata, "file");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->width, 65536);
  EXPECT_EQ(found->rule, ResizeRule::squash);
  EXPECT_EQ(found->mean, options.mean);
  EXPECT_EQ(found->std, options.std);
  EXPECT_EQ(read_label_metadata(metadata, "file"), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_FALSE(read_preprocess_metadata({}, "file"));
}

TEST(WeightsMetadata, NumbersOutOfRangeAreErrorsAndNeverWrapAround) {
  ASSERT_TRUE(read(preprocess("", "")));
  // 4294967520 is 224 in 32 bits.
  for (const char* size : {"0", "-1", "65537", "4294967520", "18446744073709551615", "1e30",
                           "224.5", "\"224\"", "null", "1e400"})
    for (const char* name : {"width", "height"})
      EXPECT_THROW(read(preprocess(name, size)), Error) << name << " " << size;
  for (const char* crop : {"0", "-0.5", "1.01", "1e400", "\"1\""})
    EXPECT_THROW(read(preprocess("crop_pct", crop)), Error) << crop;
  for (const char* values : {"[0, 1, 1]", "[1, 1e-300, 1]", "[1, 1, 1e39]", "[1, -1, 1]", "[1, 1]",
                             "[1, 1, 1, 1]", "1", "[1, 1, null]"})
    EXPECT_THROW(read(preprocess("std", values)), Error) << values;
  for (const char* values : {"[1e39, 0, 0]", "[0, -1e39, 0]", "[0, 0]", "{}"})
    EXPECT_THROW(read(preprocess("mean", values)), Error) << values;
}

}  // namespace
}  // namespace ttt::vision
