// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/tar.h"

#include "core/error.h"
#include "tests/core/inputs/files.h"

#include <gtest/gtest.h>

namespace ttt {
namespace {

using namespace std::string_literals;
using Names = std::vector<std::string>;
using test::content_of;
using test::expand;
using test::names;
using test::put;
using test::tar_end;
using test::tar_member;
using test::TempDir;

std::string pax(const std::string& key, const std::string& value) {
  // The record's length counts its own digits.
  std::size_t length = key.size() + value.size() + 3;
  length += std::to_string(length).size();
  if (std::to_string(length).size() + key.size() + value.size() + 3 != length) ++length;
  return std::to_string(length) + " " + key + "=" + value + "\n";
}

TEST(Tar, PicturesAreReadInPlaceInNaturalOrder) {
  const TempDir folder;
  const std::string archive =
      put(folder, "x.tar",
          tar_member("./test/", "", '5') + tar_member("./test/dog/10.jpg", "ten") +
              tar_member("test/dog/9.jpg", std::string(700, 'n')) +
              tar_member("test/cat/1.jpg", "one") + tar_member("test/readme.txt", "text") +
              tar_member("test/.hidden.jpg", "x") + tar_end());
  const InputSet set = expand({archive});
  EXPECT_EQ(names(set, archive), (Names{"test/cat/1.jpg", "test/dog/9.jpg", "test/dog/10.jpg"}));
  EXPECT_EQ(content_of(set.items[0]), "one");
  EXPECT_EQ(content_of(set.items[1]), std::string(700, 'n'));
  EXPECT_EQ(content_of(set.items[2]), "ten");
  EXPECT_EQ(set.class_names, (Names{"cat", "dog"}));
}

TEST(Tar, APartCanBeChosen) {
  const TempDir folder;
  const std::string archive =
      put(folder, "x.tar",
          tar_member("train/cat/1.jpg", "1") + tar_member("train/dog/1.jpg", "2") +
              tar_member("test/cat/1.jpg", "3") + tar_member("test/dog/1.jpg", "4") +
              tar_member("test2/dog/1.jpg", "5") + tar_end());
  const Names expected{"test/cat/1.jpg", "test/dog/1.jpg"};
  EXPECT_EQ(names(expand({archive + "/test"}), archive), expected);
  EXPECT_EQ(names(expand({archive + ":test/"}), archive), expected);
  EXPECT_EQ(names(expand({archive + "/train/cat/1.jpg"}), archive), Names{"train/cat/1.jpg"});
  try {
    expand({archive + "/text"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(error.message().find("text"), std::string::npos);
  }
}

TEST(Tar, LongNamesOfAllDialects) {
  const TempDir folder;
  const std::string deep(150, 'd');
  const std::string archive = put(
      folder, "x.tar",
      tar_member("1.jpg", "ustar", '0', {}, "prefix/" + std::string(100, 'p')) +
          tar_member("././@LongLink", deep + "/2.jpg\0"s, 'L') +
          tar_member(deep.substr(0, 99), "gnu") +
          tar_member("PaxHeader", pax("mtime", "1.5") + pax("path", deep + "/3.jpg"), 'x') +
          tar_member("short", "pax") + tar_member("pax_global_header", pax("comment", "x"), 'g') +
          tar_member("4.jpg", "four") + tar_member("5.jpg", "", '1', "4.jpg") +
          tar_member("6.jpg", "", '2', "4.jpg") + tar_end());
  const InputSet set = expand({archive});
  EXPECT_EQ(names(set, archive), (Names{"4.jpg", "5.jpg", deep + "/2.jpg", deep + "/3.jpg",
                                        "prefix/" + std::string(100, 'p') + "/1.jpg"}));
  EXPECT_EQ(content_of(set.items[1]), "four") << "a hard link";
  EXPECT_EQ(content_of(set.items[2]), "gnu");
  EXPECT_EQ(content_of(set.items[3]), "pax");
  EXPECT_EQ(content_of(set.items[4]), "ustar");
}

TEST(Tar, ACutArchiveGivesWhatIsWhole) {
  const TempDir folder;
  std::string text = tar_member("1.jpg", "one") + tar_member("2.jpg", std::string(2000, 'x'));
  text.resize(text.size() - 1024);
  const InputSet set = expand({put(folder, "x.tar", text)});
  ASSERT_EQ(set.items.size(), 2U);
  EXPECT_EQ(content_of(set.items[0]), "one");
  EXPECT_TRUE(content_of(set.items[1]).starts_with("error: "));
}

TEST(Tar, DamagedHeadersAreErrorsWithTheirPlace) {
  const TempDir folder;
  std::string bad_sum = tar_member("1.jpg", "one") + tar_member("2.jpg", "two") + tar_end();
  bad_sum[1024 + 3] ^= 1;
  std::string huge = tar_member("1.jpg", "one") + tar_end();
  const std::string bad_pax = tar_member("1.jpg", "1") +
                              tar_member("p", "9999999999999999999999 path=x\n", 'x') + tar_end();
  const std::string zero_pax =
      tar_member("1.jpg", "1") + tar_member("p", "0 path=x\n", 'x') + tar_end();
  int number = 0;
  for (const std::string& text : {bad_sum, bad_pax, zero_pax}) {
    try {
      expand({put(folder, std::to_string(++number) + ".tar", text)});
      ADD_FAILURE() << number;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_NE(error.message().find("offset 1024"), std::string::npos) << error.message();
    }
  }
}

TEST(Tar, CompressedArchivesAreRefusedWithTheCommand) {
  const TempDir folder;
  for (const char* name : {"x.tar.gz", "x.tgz", "x.tar.xz"}) {
    try {
      expand({put(folder, name, "\x1F\x8B\x08 something")});
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_NE(error.hint().find("tar xf"), std::string::npos) << error.hint();
    }
  }
}

TEST(Tar, TheContentDecides) {
  const TempDir folder;
  const std::string archive = put(folder, "weights.pth.tar", "PK\3\4 not a tar");
  EXPECT_EQ(names(expand({archive})), Names{archive});
}

TEST(Tar, GoldenArchiveIsIndexedCompletely) {
  TTT_REQUIRE_SHARED("data/cifar10.tar");
  const std::string archive = test::shared("data/cifar10.tar").string();
  const InputSet set = expand({archive});
  EXPECT_EQ(set.split, "test");
  EXPECT_EQ(set.items.size(), 10'000U);
  EXPECT_EQ(set.class_names.size(), 10U);
  EXPECT_EQ(set.label_source, LabelSource::folders);
  EXPECT_TRUE(content_of(set.items.back()).starts_with(test::kJpeg.substr(0, 3)));
  EXPECT_EQ(expand({archive + "/train"}).items.size(), 50'000U);
}

}  // namespace
}  // namespace ttt
