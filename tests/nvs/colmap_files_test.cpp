// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// COLMAP models as people have them.
#include "tests/nvs/scene_files_fixture.h"

#include <cstdint>
#include <cstring>

namespace ttt::nvs {
namespace {

using test::TempDir;
using test::write_text;

class ColmapFiles : public testing::Test {
 protected:
  void SetUp() override { test::write_ring_pictures(folder_.path(), 4); }
  std::string path() const { return folder_.path().string(); }
  Scene read(const test::ColmapText& text) {
    test::write_colmap(folder_ / "sparse/0", text);
    return read_scene(path());
  }
  std::string error_of(const test::ColmapText& text) {
    test::write_colmap(folder_ / "sparse/0", text);
    const Error error = failure(path());
    return std::string(error.what()) + " | " + error.hint();
  }
  TempDir folder_;
};

TEST_F(ColmapFiles, TextInAllItsForms) {
  const test::ColmapText plain = test::colmap_text(4);
  EXPECT_EQ(read(plain).usable().size(), 4U);
  test::ColmapText text = plain;
  text.images = "# comment\n\n" + text.images;
  EXPECT_EQ(read(text).usable().size(), 4U);
  // Without the final newline and the last, empty line of points.
  text.images = plain.images.substr(0, plain.images.size() - 2);
  EXPECT_EQ(read(text).usable().size(), 4U);
  // Without any lines of points.
  text.images.clear();
  for (const char c : plain.images)
    if (c != '\n' || !text.images.ends_with('\n')) text.images += c;
  EXPECT_EQ(read(text).usable().size(), 4U);
  // With points.
  text.images = plain.images;
  for (std::size_t at = 0; (at = text.images.find("\n\n", at)) != std::string::npos; at += 2)
    text.images.replace(at, 2, "\n1.5 2.5 -1 3 4 7 1 1 1 2 2 2 3 3 3\n");
  EXPECT_EQ(read(text).usable().size(), 4U);
  // From Windows.
  text = plain;
  for (std::string* part : {&text.cameras, &text.images})
    for (std::size_t at = 0; (at = part->find('\n', at)) != std::string::npos; at += 2)
      part->replace(at, 1, "\r\n");
  EXPECT_EQ(read(text).usable().size(), 4U);
}

TEST_F(ColmapFiles, NamesRunToTheEndOfTheLine) {
  test::write_picture(folder_ / "images/day 1/my photo.png");
  test::ColmapText text = test::colmap_text(2);
  text.images.replace(text.images.find("1.png"), 5, "day 1/my photo.png");
  const Scene scene = read(text);
  EXPECT_EQ(scene.usable().size(), 2U);
  EXPECT_EQ(scene.frames[1].name, "day 1/my photo.png");
}

TEST_F(ColmapFiles, DamagedTextNamesTheLine) {
  test::ColmapText text = test::colmap_text(2);
  text.images = "1 0.5 zero 0 0 0 0 0 1 a.png\n\n" + text.images;
  EXPECT_TRUE(mentions(error_of(text), "images.txt, line 1"));
  text = test::colmap_text(2);
  text.cameras = "1 PINHOLE 48 32 50 50 24\n";
  EXPECT_TRUE(mentions(error_of(text), "has 4 parameters, not 3"));
  text.cameras = "1 PINHOLE wide 32 50 50 24 16\n";
  EXPECT_TRUE(mentions(error_of(text), "cameras.txt, line 1"));
  text.cameras = "7 PINHOLE 48 32 50 50 24 16\n";
  EXPECT_TRUE(mentions(error_of(text), "camera 1 is missing"));
  text.cameras = "1 PINHOLE 99999999999 32 50 50 24 16\n";
  EXPECT_TRUE(mentions(error_of(text), "99999999999"));
  text = test::colmap_text(2);
  text.images += text.images;
  EXPECT_TRUE(mentions(error_of(text), "there twice"));
  text.images.clear();
  EXPECT_TRUE(mentions(error_of(text), "no frames"));
  text = test::colmap_text(2);
  text.images = "3 0 0 0 0 0 0 0 1 2.png\n\n4 nan 0 0 0 0 0 0 1 3.png\n\n" + text.images;
  EXPECT_EQ(read(text).usable(), (std::vector<int>{0, 1}));
}

TEST_F(ColmapFiles, LensesAreTakenOrRefusedByName) {
  const auto with = [](const std::string& camera) {
    test::ColmapText text = test::colmap_text(2);
    text.cameras = "1 " + camera + "\n";
    return text;
  };
  EXPECT_EQ(read(with("SIMPLE_RADIAL 48 32 50 24 16 0.1")).frames[0].distortion.k[0], 0.1);
  EXPECT_EQ(read(with("RADIAL 48 32 50 24 16 0.1 0.2")).frames[0].distortion.k[1], 0.2);
  EXPECT_EQ(read(with("OPENCV 48 32 50 51 24 16 .1 .2 .3 .4")).frames[0].distortion.p[1], 0.4);
  EXPECT_EQ(read(with("OPENCV_FISHEYE 48 32 50 51 24 16 .1 .2 .3 .4")).frames[0].distortion.model,
            LensModel::fisheye);
  const Distortion full =
      read(with("FULL_OPENCV 48 32 50 51 24 16 .1 .2 .3 .4 .5 .6 .7 .8")).frames[0].distortion;
  EXPECT_EQ(full.k[2], 0.5);
  EXPECT_EQ(full.d[2], 0.8);
  EXPECT_EQ(read(with("RADIAL_FISHEYE 48 32 50 24 16 .1 .2")).frames[0].distortion.k[1], 0.2);
  EXPECT_EQ(read(with("SIMPLE_PINHOLE 48 32 50 24 16")).frames[0].intrinsics.fy, 50);
  for (const char* camera :
       {"FOV 48 32 50 51 24 16 .9", "THIN_PRISM_FISHEYE 48 32 1 2 3 4 5 6 7 8 9 10 11 12",
        "EQUIRECTANGULAR 48 32 48 32", "EUCM 48 32 1 2 3 4 5 6", "SOMETHING_NEW 48 32 1"}) {
    const std::string message = error_of(with(camera));
    const std::string name(camera, std::strchr(camera, ' '));
    EXPECT_TRUE(mentions(message, name)) << message;
    EXPECT_TRUE(mentions(message, "colmap image_undistorter")) << message;
  }
}

TEST_F(ColmapFiles, OfSeveralModelsTheLargestIsTaken) {
  test::write_colmap(folder_ / "sparse/0", test::colmap_text(2));
  test::write_colmap(folder_ / "sparse/1", test::colmap_text(4));
  const Scene scene = read_scene(path());
  EXPECT_EQ(scene.frames.size(), 4U);
  ASSERT_FALSE(scene.notes.empty());
  EXPECT_TRUE(mentions(scene.notes[0], "2 models"));
  EXPECT_EQ(read_scene(path() + "/sparse/0").frames.size(), 2U);
}

TEST_F(ColmapFiles, PicturesWithoutPoseAreCounted) {
  const Scene scene = read(test::colmap_text(3));
  bool told = false;
  for (const std::string& note : scene.notes) told = told || mentions(note, "3 of 4 pictures");
  EXPECT_TRUE(told);
}

/// A binary model with everything right, to be damaged.
struct Binary {
  std::string cameras, images;
  template <typename T>
  static void put(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  explicit Binary(std::int32_t model = 1) {
    put<std::uint64_t>(cameras, 1);
    put<std::uint32_t>(cameras, 1);
    put<std::int32_t>(cameras, model);
    put<std::uint64_t>(cameras, 48);
    put<std::uint64_t>(cameras, 32);
    for (const double value : {50., 50., 24., 16.}) put(cameras, value);
    put<std::uint64_t>(images, 1);
    put<std::uint32_t>(images, 1);
    for (const double value : {1., 0., 0., 0., 0., 0., 3.}) put(images, value);
    put<std::uint32_t>(images, 1);
    images += std::string("0.png") + '\0';
    put<std::uint64_t>(images, 1);
    for (int i = 0; i < 3; ++i) put<std::uint64_t>(images, 0);
  }
};

TEST_F(ColmapFiles, BinaryFilesAreCheckedBeforeMemoryIsTaken) {
  const auto error = [&](const Binary& binary) {
    write_text(folder_ / "sparse/0/cameras.bin", binary.cameras);
    write_text(folder_ / "sparse/0/images.bin", binary.images);
    return failure(path());
  };
  const Binary good;
  write_text(folder_ / "sparse/0/cameras.bin", good.cameras);
  write_text(folder_ / "sparse/0/images.bin", good.images);
  EXPECT_EQ(read_scene(path()).usable().size(), 1U);
  // Every cut, and huge counts.
  for (std::size_t length = 0; length < good.images.size(); ++length) {
    Binary cut = good;
    cut.images.resize(length);
    EXPECT_EQ(error(cut).kind(), ErrorKind::input) << length;
  }
  for (std::size_t length = 0; length < good.cameras.size(); ++length) {
    Binary cut = good;
    cut.cameras.resize(length);
    EXPECT_EQ(error(cut).kind(), ErrorKind::input) << length;
  }
  for (std::string Binary::*file : {&Binary::cameras, &Binary::images}) {
    Binary longer = good;
    (longer.*file) += "more";
    EXPECT_TRUE(mentions(error(longer).what(), "4 bytes follow after 1"));
  }
  for (const std::size_t at : {std::size_t{7}, good.images.size() - 25}) {
    Binary huge = good;
    huge.images[at] = '\x7F';
    EXPECT_TRUE(mentions(error(huge).what(), "cut or damaged")) << at;
  }
  Binary huge = good;
  huge.cameras[7] = '\xFF';
  EXPECT_TRUE(mentions(error(huge).what(), "cut or damaged"));
  EXPECT_TRUE(mentions(error(Binary(99)).what(), "unknown model number 99"));
  EXPECT_TRUE(mentions(error(Binary(15)).what(), "FISHEYE"));
}

}  // namespace
}  // namespace ttt::nvs
