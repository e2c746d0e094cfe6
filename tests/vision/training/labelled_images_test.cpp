// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/training/labelled_images.h"

#include "core/atomic_file.h"
#include "core/error.h"
#include "tests/support/paths.h"
#include "tests/support/pictures.h"

#include <gtest/gtest.h>

namespace ttt::vision {
namespace {

InputSet inputs_of(const std::filesystem::path& path) {
  return expand_inputs({.arguments = {path.string()}});
}

TEST(LabelledImages, ClassFoldersAreSorted) {
  const test::TempDir folder;
  test::write_class_folders(folder.path(), 3, 2, 8);
  const LabelledImages images(inputs_of(folder.path()), {});
  EXPECT_EQ(images.size(), 6);
  EXPECT_EQ(images.classes(), (std::vector<std::string>{"class0", "class1", "class2"}));
  EXPECT_EQ(images.label(5), 2);
  EXPECT_EQ(images.load(0)->width, 8);
}

TEST(LabelledImages, CacheKeepsWhatFits) {
  const test::TempDir folder;
  test::write_class_folders(folder.path(), 2, 2, 8);
  const LabelledImages roomy(inputs_of(folder.path()), {});
  EXPECT_EQ(roomy.load(1), roomy.load(1));
  const LabelledImages none(inputs_of(folder.path()), {.cache_bytes = 0});
  EXPECT_NE(none.load(1), none.load(1));
  EXPECT_EQ(none.load(1)->rgb, roomy.load(1)->rgb);
}

TEST(LabelledImages, ValidationMustHaveTheClassesOfTheTraining) {
  const test::TempDir folder;
  test::write_class_folders(folder.path(), 2, 1, 8);
  LabelledImagesOptions options{.classes = {"other", "class0", "class1"}};
  const LabelledImages images(inputs_of(folder.path()), options);
  EXPECT_EQ(images.label(0), 1);
  options.classes = {"class0", "other"};
  EXPECT_THROW(LabelledImages(inputs_of(folder.path()), options), Error);
}

TEST(LabelledImages, TablesOfIndices) {
  const test::TempDir folder;
  test::write_class_folders(folder.path(), 2, 1, 8);
  write_file(folder / "list.csv", "path,label\nclass0/0.bmp,0\nclass1/0.bmp,4\n");
  const LabelledImages images(inputs_of(folder / "list.csv"), {});
  EXPECT_EQ(images.classes().size(), 5U);
  EXPECT_EQ(images.label(1), 4);
}

TEST(LabelledImages, AnOddIndexDoesNotMakeAMillionClasses) {
  const test::TempDir folder;
  test::write_class_folders(folder.path(), 2, 1, 8);
  write_file(folder / "list.csv", "path,label\nclass0/0.bmp,0\nclass1/0.bmp,999999999\n");
  EXPECT_THROW(LabelledImages(inputs_of(folder / "list.csv"), {}), Error);
}

TEST(LabelledImages, PicturesWithoutLabelsAreRefused) {
  const test::TempDir folder;
  test::write_class_folders(folder.path(), 1, 2, 8);
  EXPECT_THROW(LabelledImages(inputs_of(folder / "class0"), {}), Error);
  try {
    LabelledImages(inputs_of(folder / "nothing.tar"), {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nothing.tar"), std::string::npos);
  }
}

}  // namespace
}  // namespace ttt::vision
