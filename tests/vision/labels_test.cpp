// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/labels.h"

#include "core/error.h"
#include "tests/support/paths.h"
#include "vision/accuracy.h"

#include <gtest/gtest.h>

#include <fstream>

namespace ttt::test {
namespace {

using vision::LabelSet;

class LabelFile : public testing::Test {
 protected:
  LabelSet read(const std::string& content) {
    const auto path = dir_ / "labels.txt";
    std::ofstream(path, std::ios::binary) << content;
    return LabelSet::from_file(path.string());
  }
  TempDir dir_;
};

TEST_F(LabelFile, LinesTablesAndJsonGiveTheSameSet) {
  const std::string utf16{
      "\xFF\xFE"
      "c\0a\0t\0\n\0d\0o\0g\0",
      16};
  for (const std::string& content :
       {std::string("cat\ndog\n"),
        std::string("\xEF\xBB\xBF"
                    "cat\r\ndog"),
        std::string("1\tn2\tdog\n0\tn1\tcat\n"), std::string("0\tcat\n1\tdog\n"),
        std::string("[\"cat\", \"dog\"]"), std::string("{\"0\": \"cat\", \"1\": \"dog\"}"),
        std::string("{\"cat\": 0, \"dog\": 1}"),
        std::string("{\"1\": [\"n2\", \"dog\"],\n \"0\": [\"n1\", \"cat\"]}"), utf16}) {
    const LabelSet labels = read(content);
    ASSERT_EQ(labels.size(), 2U) << content;
    EXPECT_EQ(labels.name(0), "cat") << content;
    EXPECT_EQ(labels.name(1), "dog") << content;
    EXPECT_EQ(labels.name(2), "class 2");
    EXPECT_EQ(labels.find("Dog"), 1);
    EXPECT_FALSE(labels.find("cow"));
  }
}

TEST_F(LabelFile, MalformedFilesAreInputErrors) {
  for (const std::string& content :
       {std::string(), std::string("[1, 2]"), std::string("{\"a\": \"b\"}"), std::string("[\"a\""),
        std::string("{\"0\": \"a\", \"2\": \"b\"}"), std::string("0\ta\n0\tb\n"),
        std::string("1\ta\n2\tb\n")}) {
    try {
      read(content);
      FAIL() << "accepted: " << content;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << content;
      EXPECT_FALSE(error.hint().empty()) << content;
    }
  }
  EXPECT_THROW(LabelSet::from_file((dir_ / "absent.txt").string()), Error);
}

TEST(Labels, ImageNetShips) {
  const LabelSet labels = LabelSet::imagenet();
  ASSERT_EQ(labels.size(), 1000U);
  EXPECT_EQ(labels.name(0), "tench");
  EXPECT_EQ(labels.find("n01440764"), 0);
  EXPECT_EQ(labels.find("great_white_shark"), 2);
}

TEST(Labels, ANameOfTwoClassesFindsNeither) {
  const LabelSet labels = LabelSet::from_names({"crane", "bat", "Crane"});
  EXPECT_FALSE(labels.find("crane"));
  EXPECT_EQ(labels.find("bat"), 1);
}

TEST(Labels, ClassFoldersMatchByNameNumberOrOrder) {
  using Map = std::map<std::string, std::int64_t>;
  const LabelSet labels = LabelSet::from_names({"cat", "dog", "cow"});
  const auto match = [&](const std::vector<std::string>& names) {
    return vision::match_class_folders(names, labels, 3);
  };
  EXPECT_EQ(match({"Cow", "cat"}), (Map{{"Cow", 2}, {"cat", 0}}));
  EXPECT_EQ(match({"0", "2"}), (Map{{"0", 0}, {"2", 2}}));
  EXPECT_EQ(match({"n1", "n2", "n3"}), (Map{{"n1", 0}, {"n2", 1}, {"n3", 2}}));
  EXPECT_TRUE(match({"n1", "n2"}).empty());
  EXPECT_TRUE(match({"cat", "horse"}).empty());
}

TEST(Accuracy, CountsTopOneTopFiveAndConfusion) {
  vision::Accuracy accuracy(7);
  const std::vector<std::int64_t> best{3, 1, 0, 2, 4, 5};
  accuracy.add(3, best);
  accuracy.add(4, best);
  accuracy.add(5, best);  // sixth
  accuracy.add(5, best);
  EXPECT_EQ(accuracy.count(), 4);
  EXPECT_DOUBLE_EQ(accuracy.top1(), 0.25);
  EXPECT_DOUBLE_EQ(accuracy.top5(), 0.5);
  EXPECT_EQ(accuracy.class_count(5), 2);
  EXPECT_EQ(accuracy.confusion(5, 3), 2);
  EXPECT_THROW(accuracy.add(7, best), Error);
}

}  // namespace
}  // namespace ttt::test
