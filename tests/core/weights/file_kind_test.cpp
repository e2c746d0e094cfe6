// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/core/weights/weight_test_files.h"

#include <sys/stat.h>

namespace ttt {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using test::open_error;
using test::TempDir;
using test::write_bytes;

TEST(FileKind, LfsPointersGiveBothSizes) {
  const std::string error = open_error(
      "version https://git-lfs.github.com/spec/v1\n"
      "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n");
  EXPECT_CONTAINS(error, "Git LFS pointer");
  EXPECT_CONTAINS(error, "12345 bytes expected, 130 found");
  EXPECT_CONTAINS(error, "git lfs pull");
}

TEST(FileKind, WebPagesAreNamed) {
  for (const char* page : {"<!DOCTYPE html><html>", "\n\n  <html lang=\"en\">", "<HTML><HEAD>",
                           "\xEF\xBB\xBF<!doctype html>", "<?xml version=\"1.0\"?><Error>"})
    EXPECT_CONTAINS(open_error(page), "web page") << page;
}

TEST(FileKind, OtherFormatsAreNamed) {
  const std::string tar = std::string(257, 'a') + "ustar\0"s + std::string(300, '\0');
  const struct {
    std::string bytes;
    const char* part;
  } cases[] = {
      {"GGUF\x03\0\0\0\0\0\0\0"s, "GGUF"},
      {"\x89HDF\r\n\x1a\n\0\0\0\0"s, "HDF5"},
      {"\x93NUMPY\x01\0v\0{'descr'"s, "later|doesn't read yet"},
      {tar, "tar archive"},
      {"\x1f\x8b\x08\0\0\0\0\0\0\0"s, "gzip"},
      {"\x80\x02}q\0."s, "bare Python pickle"},
      {"\x80\x04\x95\0\0\0\0\0\0\0\0}."s, "bare Python pickle"},
      {"\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."s, "old torch.save format"},
      {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s, "PNG picture"},
      {"\xff\xd8\xff\xe0\0\x10JFIF\0"s, "JPEG picture"},
      {"%PDF-1.7\n"s, "PDF"},
      {std::string(5000, '\0'), "zeros"},
      {"Not Found"s, "this is text"},
      {"{\"error\": \"Invalid credentials\"}"s, "JSON text"},
      {"[1, 2]"s, "this is text"},
      {"\x01\x02\x03"s, "kind that we know"},
      {"\x13\x37\x01\x02\x03\x04\x05\x06\x07\x08\x09"s, "kind that we know"},
  };
  for (const auto& item : cases) {
    const std::string error = open_error(item.bytes);
    const std::string part = item.part;
    EXPECT_CONTAINS(error, part.substr(part.find('|') + 1)) << error;
  }
}

std::string error_of(const fs::path& path) {
  try {
    WeightFile::open(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::weights);
    return std::string(error.what()) + "\n" + error.hint();
  }
  return "no error";
}

TEST(FileKind, PathsThatAreNoFiles) {
  const TempDir folder;
  write_bytes(folder / "empty.pth", "");
  EXPECT_CONTAINS(error_of(folder / "empty.pth"), "empty");
  EXPECT_CONTAINS(error_of(""), "path of the weights is empty");
  EXPECT_CONTAINS(error_of("/dev/null"), "not a regular file");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_CONTAINS(error_of(folder / "pipe"), "not a regular file");
  const std::string missing = error_of(folder / "emty.pth");
  EXPECT_CONTAINS(missing, "emty.pth");
  EXPECT_CONTAINS(missing, "its folder holds empty.pth");
  EXPECT_CONTAINS(error_of(folder / "no" / "x.pth"), "no such weight file");
  EXPECT_CONTAINS(error_of(folder / "bad\nname.pth"), "bad\\x0Aname.pth");
}

TEST(FileKind, FoldersStandForTheirSingleWeightFile) {
  const TempDir folder;
  EXPECT_CONTAINS(error_of(folder.path()), "*.safetensors");
  write_bytes(folder / "config.json", "{}");
  write_bytes(folder / "diffusion_pytorch_model.safetensors", test::safetensors_bytes("{}", 0));
  write_bytes(folder / "extra.bin", "x");
  EXPECT_EQ(WeightFile::open(folder.path()).container(), "safetensors");
  write_bytes(folder / "model.fp16.SAFETENSORS", test::safetensors_bytes("{}", 0));
  EXPECT_CONTAINS(error_of(folder.path()),
                  "diffusion_pytorch_model.safetensors, model.fp16.SAFETENSORS");
}

TEST(FileKind, TheSuffixDoesNotMatter) {
  const TempDir folder;
  write_bytes(folder / "w.pth", test::safetensors_bytes("{}", 0));
  EXPECT_EQ(WeightFile::open(folder / "w.pth").container(), "safetensors");
  const auto zip = test::source_dir() / "tests" / "core" / "weights" / "data" / "kinds.pt";
  fs::copy_file(zip, folder / "w.safetensors");
  EXPECT_EQ(WeightFile::open(folder / "w.safetensors").container(), "torch-zip");
  fs::copy_file(zip, folder / "w.pth.tar");
  EXPECT_EQ(WeightFile::open(folder / "w.pth.tar").container(), "torch-zip");
}

TEST(FileKind, GoldenDiffusersFolderIsRead) {
  TTT_REQUIRE_SHARED("golden/vision/vae_micro");
  const WeightFile file = WeightFile::open(test::shared("golden/vision/vae_micro"));
  EXPECT_NE(file.find("encoder.conv_in.weight"), nullptr);
}

}  // namespace
}  // namespace ttt
