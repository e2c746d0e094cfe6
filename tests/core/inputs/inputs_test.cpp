// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/inputs.h"

#include "core/error.h"
#include "core/log.h"
#include "tests/core/inputs/files.h"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>
#include <sys/stat.h>

namespace ttt {
namespace {

using namespace std::string_literals;
using Names = std::vector<std::string>;
using test::content_of;
using test::expand;
using test::names;
using test::put;
using test::TempDir;

Error error_of(const std::vector<std::string>& arguments, const std::string& split = "auto") {
  try {
    expand(arguments, split);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::internal, "expanded");
}

TEST(Inputs, FoldersAreReadDeepAndInNaturalOrder) {
  const TempDir folder;
  for (const char* name : {"10.jpg", "2.jpg", "b/1.png", "B/1.png", "a10/x.gif", "a9/x.gif",
                           "a9-z.bmp", "01.jpg", "1.jpg"})
    put(folder, name);
  EXPECT_EQ(names(expand({folder.path()}), folder.path()),
            (Names{"01.jpg", "1.jpg", "2.jpg", "10.jpg", "B/1.png", "a9/x.gif", "a9-z.bmp",
                   "a10/x.gif", "b/1.png"}));
}

TEST(Inputs, SuffixesCountWithoutCaseAndUnsupportedPicturesStayVisible) {
  const TempDir folder;
  for (const char* name : {"a.JPG", "b.JPEG", "c.Png", "d.tIFF", "e.HEIC", "f.avif", "g.svg"})
    put(folder, name, "x");
  EXPECT_EQ(names(expand({folder.path()}), folder.path()),
            (Names{"a.JPG", "b.JPEG", "c.Png", "d.tIFF", "e.HEIC", "f.avif", "g.svg"}));
}

TEST(Inputs, ContentSpeaksForFilesWithoutAPicturesName) {
  const TempDir folder;
  put(folder, "photo");
  put(folder, "photo.jpg_large");
  put(folder, "notes.md", "text");
  EXPECT_EQ(names(expand({folder.path()}), folder.path()), (Names{"photo", "photo.jpg_large"}));
}

TEST(Inputs, HiddenFilesAndClutterAreSkippedAndOtherFilesAreCounted) {
  const TempDir folder;
  put(folder, "a.jpg");
  for (const char* name : {".hidden.jpg", ".git/b.jpg", "__MACOSX/a.jpg", "Thumbs.db", ".DS_Store"})
    put(folder, name);
  put(folder, "clip.mp4", "x");
  put(folder, "notes.txt", "x");
  put(folder, "more.TXT", "x");
  std::string log;
  set_log_callback([&](LogLevel, std::string_view line) { log += line; });
  const InputSet set = expand({folder.path()});
  set_log_callback({});
  EXPECT_EQ(names(set, folder.path()), Names{"a.jpg"});
  EXPECT_NE(log.find("1 .mp4"), std::string::npos) << log;
  EXPECT_NE(log.find("2 .txt"), std::string::npos) << log;
}

TEST(Inputs, LinksAreFollowedAndLoopsEnd) {
  const TempDir folder;
  put(folder, "a/1.jpg");
  std::filesystem::create_directory_symlink(folder.path(), folder / "a/loop");
  std::filesystem::create_directory_symlink(folder / "a", folder / "b");
  std::filesystem::create_symlink(folder / "gone.jpg", folder / "broken.jpg");
  const InputSet set = expand({folder.path()});
  EXPECT_EQ(names(set, folder.path()), (Names{"a/1.jpg", "b/1.jpg", "broken.jpg"}));
  EXPECT_TRUE(content_of(set.items[2]).starts_with("error: "));
}

TEST(Inputs, AnExplicitFileIsAnItemWhateverItsName) {
  const TempDir folder;
  const std::string odd = put(folder, "data.bin", "\1\2\3"s);
  const std::string umlauts = put(folder, "gr\xC3\xBC\xC3\x9F\x65.jpg");
  const std::string latin1 = put(folder, "caf\xE9 [1]*.jpg", "latin");
  const InputSet set = expand({odd, umlauts, latin1, odd});
  EXPECT_EQ(names(set), (Names{odd, umlauts, latin1, odd})) << "in order, doubles kept";
  EXPECT_EQ(content_of(set.items[0]), "\1\2\3");
  EXPECT_EQ(content_of(set.items[2]), "latin");
}

TEST(Inputs, MissingFilesStayInTheirPlaceWithAHint) {
  const TempDir folder;
  const std::string here = put(folder, "IMG_1.JPG");
  const InputSet set = expand(
      {(folder / "img_1.jpg").string(), here, (folder / "img_1.png").string(), "/no/such/x.jpg"});
  ASSERT_EQ(set.items.size(), 4U);
  EXPECT_EQ(content_of(set.items[1]), test::kJpeg);
  const auto hint = [&](std::size_t i) {
    try {
      set.items[i].read();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      return error.hint();
    }
    return "no error"s;
  };
  EXPECT_NE(hint(0).find("IMG_1.JPG"), std::string::npos) << hint(0);
  EXPECT_NE(hint(2).find("IMG_1.JPG"), std::string::npos) << hint(2);
  EXPECT_NE(hint(3).find("/no/such"), std::string::npos) << hint(3);
  EXPECT_EQ(expand({"/no/such/x.jpg"}).items.size(), 1U) << "also when it is alone";
}

TEST(Inputs, EmptyFoldersAndPatternsWithoutMatchAreNamed) {
  const TempDir folder;
  std::filesystem::create_directory(folder / "empty");
  put(folder, "texts/a.txt", "x");
  const std::string empty = (folder / "empty").string();
  for (const std::string& argument :
       {empty, (folder / "texts").string(), (folder / "*.jpg").string()}) {
    const Error error = error_of({argument});
    EXPECT_EQ(error.kind(), ErrorKind::input) << argument;
    EXPECT_NE(error.where().find(argument), std::string::npos) << error.what();
    EXPECT_FALSE(error.hint().empty());
  }
  const InputSet set = expand({put(folder, "a.png"), empty});
  ASSERT_EQ(set.items.size(), 2U) << "others go on";
  EXPECT_EQ(content_of(set.items[1]), "error: the folder is empty");
  EXPECT_EQ(error_of({}).kind(), ErrorKind::usage);
}

TEST(Inputs, Patterns) {
  const TempDir folder;
  for (const char* name :
       {"a1.jpg", "a2.jpg", "a10.jpg", "b1.png", "sub/a3.jpg", "sub/deep/a4.jpg", ".a5.jpg"})
    put(folder, name);
  const auto found = [&](const char* pattern) {
    return names(expand({(folder / pattern).string()}), folder.path());
  };
  EXPECT_EQ(found("a*.jpg"), (Names{"a1.jpg", "a2.jpg", "a10.jpg"}));
  EXPECT_EQ(found("a?.jpg"), (Names{"a1.jpg", "a2.jpg"}));
  EXPECT_EQ(found("[!b]1.*"), Names{"a1.jpg"});
  EXPECT_EQ(found("[a-b]1.*"), (Names{"a1.jpg", "b1.png"}));
  EXPECT_EQ(found("**/a?.jpg"), (Names{"a1.jpg", "a2.jpg", "sub/a3.jpg", "sub/deep/a4.jpg"}));
  EXPECT_EQ(found("s*/*.jpg"), Names{"sub/a3.jpg"});
  EXPECT_EQ(found("s*"), (Names{"sub/a3.jpg", "sub/deep/a4.jpg"})) << "folders are expanded";
  EXPECT_EQ(found("**"),
            (Names{"a1.jpg", "a2.jpg", "a10.jpg", "b1.png", "sub/a3.jpg", "sub/deep/a4.jpg"}));
  EXPECT_EQ(found(".a*"), Names{".a5.jpg"});
}

TEST(Inputs, ListsAreRelativeToTheirFolderAndKeepTheirOrder) {
  const TempDir folder;
  put(folder, "lists/b.jpg");
  put(folder, "lists/a b.jpg");
  put(folder, "lists/sub/1.jpg");
  const std::string list =
      put(folder, "lists/all.list",
          "\xEF\xBB\xBF"
          "b.jpg\r\n\r\n# comment\r\n  a b.jpg  \r\nsub\\1.jpg\r\nmissing.jpg\r\nsub\r\n\"b.jpg\"");
  const InputSet set = expand({"@" + list});
  EXPECT_EQ(names(set, folder / "lists"),
            (Names{"b.jpg", "a b.jpg", "sub/1.jpg", "missing.jpg", "sub/1.jpg", "b.jpg"}));
  InputOptions options;
  options.lists = {list};
  EXPECT_EQ(names(expand_inputs(options)), names(set));
  EXPECT_EQ(error_of({"@" + put(folder, "empty.txt", "\n# nothing\n")}).kind(), ErrorKind::input);
  EXPECT_EQ(error_of({"@" + (folder / "none.txt").string()}).kind(), ErrorKind::input);
}

TEST(Inputs, TextFilesAreListsButPicturesAreNot) {
  const TempDir folder;
  put(folder, "a.jpg");
  EXPECT_EQ(names(expand({put(folder, "list.txt", "a.jpg\n")}), folder.path()), Names{"a.jpg"});
  EXPECT_EQ(names(expand({put(folder, "picture.txt")}), folder.path()), Names{"picture.txt"});
}

TEST(Inputs, StandardInputHoldsAList) {
  const TempDir folder;
  const std::string a = put(folder, "a.jpg");
  const std::string b = put(folder, "b c.jpg");
  const auto with_input = [&](const std::string& text) {
    std::istringstream stream(text);
    std::streambuf* old = std::cin.rdbuf(stream.rdbuf());
    const Names found = names(expand({"-"}));
    std::cin.rdbuf(old);
    return found;
  };
  EXPECT_EQ(with_input(a + "\n" + b + "\n"), (Names{a, b}));
  EXPECT_EQ(with_input(a + '\0' + b + '\0'), (Names{a, b})) << "find -print0";
}

TEST(Inputs, TablesBringLabels) {
  const TempDir folder;
  put(folder, "x/1.jpg");
  put(folder, "x/2,b.jpg");
  const InputSet set = expand(
      {put(folder, "labels.csv",
           "Label,Path\ntiger cat,x/1.jpg\n\"say \"\"ah\"\"\",\"x/2,b.jpg\"\nape,x/3.jpg\n")});
  EXPECT_EQ(names(set, folder.path()), (Names{"x/1.jpg", "x/2,b.jpg", "x/3.jpg"}));
  EXPECT_EQ(set.label_source, LabelSource::table);
  EXPECT_FALSE(set.labels_are_indices);
  EXPECT_EQ(set.class_names, (Names{"ape", "say \"ah\"", "tiger cat"}));
  EXPECT_EQ(set.items[1].class_name, "say \"ah\"");
  EXPECT_TRUE(content_of(set.items[2]).starts_with("error: "));

  const InputSet indices = expand({put(folder, "plain.csv", "x/1.jpg;281\nx/2,b.jpg;7\n")});
  EXPECT_TRUE(indices.labels_are_indices);
  EXPECT_EQ(indices.items[0].class_name, "281");
  EXPECT_EQ(names(expand({put(folder, "t.tsv", "path\tclass\nx/1.jpg\tcat\n")}), folder.path()),
            Names{"x/1.jpg"});
}

TEST(Inputs, DamagedTablesNameTheLine) {
  const TempDir folder;
  const Error error = error_of({put(folder, "labels.csv", "path,label\na.jpg,cat\nb.jpg\n")});
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_NE(error.message().find("line 3"), std::string::npos) << error.message();
  EXPECT_EQ(error_of({put(folder, "open.csv", "a.jpg,\"cat\n")}).kind(), ErrorKind::input);
  EXPECT_EQ(error_of({put(folder, "header.csv", "path,label\n")}).kind(), ErrorKind::input);
}

TEST(Inputs, ClassFoldersAreLabels) {
  const TempDir folder;
  for (const char* name : {"n02/a.jpg", "n01/b.jpg", "n10/c.jpg"}) put(folder, name);
  const InputSet set = expand({folder.path()});
  EXPECT_EQ(set.label_source, LabelSource::folders);
  EXPECT_EQ(set.class_names, (Names{"n01", "n02", "n10"}));
  EXPECT_EQ(set.items[0].class_name, "n01");
  const InputSet folders = expand({(folder / "n02").string(), (folder / "n10").string()});
  EXPECT_EQ(folders.class_names, (Names{"n02", "n10"}));
  EXPECT_EQ(expand({(folder / "n02").string()}).label_source, LabelSource::none)
      << "one class is none";
  put(folder, "flat.jpg");
  EXPECT_EQ(expand({folder.path()}).label_source, LabelSource::none) << "a picture without class";
}

TEST(Inputs, ClassesAreInByteOrderThoughFilesAreInNaturalOrder) {
  const TempDir folder;
  for (const char* name : {"10/a.jpg", "9/a.jpg", "Z/a.jpg", "a/a.jpg"}) put(folder, name);
  const InputSet set = expand({folder.path()});
  EXPECT_EQ(set.class_names, (Names{"10", "9", "Z", "a"}));
  EXPECT_EQ(names(set, folder.path()), (Names{"9/a.jpg", "10/a.jpg", "Z/a.jpg", "a/a.jpg"}));
}

TEST(Inputs, TheTestSplitIsTakenOfSeveral) {
  const TempDir folder;
  for (const char* name : {"train/cat/1.jpg", "train/dog/2.jpg", "val/cat/3.jpg", "val/dog/4.jpg"})
    put(folder, name);
  const auto of = [&](const char* split) { return expand({folder.path()}, split); };
  EXPECT_EQ(of("auto").split, "val");
  EXPECT_EQ(names(of("auto"), folder.path()), (Names{"val/cat/3.jpg", "val/dog/4.jpg"}));
  EXPECT_EQ(of("auto").class_names, (Names{"cat", "dog"}));
  EXPECT_EQ(names(of("train"), folder.path()), (Names{"train/cat/1.jpg", "train/dog/2.jpg"}));
  EXPECT_EQ(of("all").items.size(), 4U);
  EXPECT_EQ(of("all").class_names, (Names{"cat", "dog"}));
  put(folder, "test/cat/5.jpg");
  EXPECT_EQ(of("auto").split, "test");
  EXPECT_EQ(error_of({folder.path()}, "valid").kind(), ErrorKind::usage);
  const InputSet one = expand({(folder / "val").string()});
  EXPECT_EQ(one.split, "");
  EXPECT_EQ(one.class_names, (Names{"cat", "dog"}));
  EXPECT_EQ(error_of({(folder / "val").string()}, "train").kind(), ErrorKind::usage);
}

TEST(Inputs, PipesCanBeRead) {
  const TempDir folder;
  const std::string path = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(names(expand({path})), Names{path}) << "isn't opened before it is read";
}

}  // namespace
}  // namespace ttt
