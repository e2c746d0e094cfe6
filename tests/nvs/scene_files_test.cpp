// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Scene files as people have them: names that almost match, missing and damaged things.
#include "tests/nvs/scene_files_fixture.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>

namespace ttt::nvs {
namespace {

using nlohmann::json;
using test::TempDir;
using test::write_text;

TEST_F(SceneFiles, NamesThatAlmostMatchAreFound) {
  for (const char* name :
       {"images/0.png", "./images/0.png", "images\\0.png", ".\\images\\0.png", "images/0",
        "images/0.jpg", "images/0.PNG", "Images/0.png", "C:\\captures\\room\\images\\0.png",
        "/home/someone/room/images/0.png", "/elsewhere/0.png"}) {
    const Frame frame = read_name(name);
    EXPECT_EQ(frame.problem, "") << name;
    EXPECT_TRUE(frame.path.ends_with("/images/0.png")) << name << " " << frame.path;
  }
  EXPECT_NE(read_name("images/9.png").problem, "");
  EXPECT_NE(read_name("").problem, "");
}

TEST_F(SceneFiles, ABackslashMayBePartOfAName) {
  test::write_picture(folder_ / "images\\0.png");
  EXPECT_TRUE(read_name("images\\0.png").path.ends_with("/images\\0.png"));
}

TEST_F(SceneFiles, RenamedPicturesAreToldOnce) {
  json file = test::transforms_file(4);
  for (int i = 0; i < 4; ++i) file["frames"][i]["file_path"] = fmt::format("images/{}.JPG", i);
  write_transforms(file);
  const Scene scene = read_scene(path());
  ASSERT_EQ(scene.warnings.size(), 1U);
  EXPECT_TRUE(mentions(scene.warnings[0], "4 pictures")) << scene.warnings[0];
}

TEST_F(SceneFiles, MissingPicturesKeepTheirPlaceAndAreNamed) {
  json file = test::transforms_file(4);
  file["frames"][1]["file_path"] = "images/lost.png";
  write_transforms(file);
  const Scene scene = read_scene(path());
  EXPECT_EQ(scene.frames.size(), 4U);
  EXPECT_EQ(scene.usable(), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(scene.unusable_count(), 1);
  EXPECT_TRUE(warns(scene, "lost.png"));
  EXPECT_TRUE(warns(scene, "1 of 4"));
}

TEST_F(SceneFiles, WhenAllPicturesAreMissingThereIsOneLine) {
  std::filesystem::remove_all(folder_ / "images");
  write_transforms(test::transforms_file(30));
  const Error error = failure(path());
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_TRUE(mentions(error.what(), "none of the 30 frames"));
  EXPECT_FALSE(mentions(error.what(), "\n"));
}

TEST_F(SceneFiles, NonFinitePosesAreNamed) {
  for (const char* value : {"NaN", "Infinity", "-Infinity", "null"}) {
    json file = test::transforms_file(3);
    file["frames"][1]["transform_matrix"][0][3] = "@";
    std::string text = file.dump();
    text.replace(text.find("\"@\""), 3, value);
    write_text(folder_ / "transforms.json", text);
    const Scene scene = read_scene(path());
    EXPECT_EQ(scene.usable(), (std::vector<int>{0, 2})) << value;
    EXPECT_TRUE(warns(scene, "images/1.png")) << value;
  }
  // The word inside a name is no number.
  test::write_picture(folder_ / "images/NaN.png");
  EXPECT_EQ(read_name("images/NaN.png").problem, "");
}

TEST_F(SceneFiles, PosesThatMakeNoSenseAreNamed) {
  json file = test::transforms_file(6);
  file["frames"][0]["transform_matrix"] = json::array({1, 2, 3});
  file["frames"][1]["transform_matrix"] = "identity";
  file["frames"][2]["transform_matrix"][0] = json::array({0, 0, 0, 0});
  file["frames"][3]["transform_matrix"][3] = json::array({1, 2, 3, 1});  // transposed
  file["frames"][4].erase("transform_matrix");
  file["frames"][5]["file_path"] = "images/3.png";
  write_transforms(file);
  const Scene scene = read_scene(path());
  EXPECT_EQ(scene.usable(), std::vector<int>{5});
  for (int i = 0; i < 5; ++i) EXPECT_NE(scene.frames[static_cast<std::size_t>(i)].problem, "");
}

TEST_F(SceneFiles, ThreeRowsAndFlatMatricesAreTaken) {
  json file = test::transforms_file(3);
  file["frames"][0]["transform_matrix"].erase(3);
  json flat = json::array();
  for (const json& row : file["frames"][1]["transform_matrix"])
    for (const json& value : row) flat.push_back(value);
  file["frames"][1]["transform_matrix"] = flat;
  write_transforms(file);
  const Scene scene = read_scene(path());
  for (int i = 0; i < 3; ++i) {
    const Transform expected = inverse(test::ring_pose(i));
    const Transform& actual = scene.frames[static_cast<std::size_t>(i)].world_to_camera;
    EXPECT_LE(length(actual.translation - expected.translation), 1e-12) << i;
  }
}

TEST_F(SceneFiles, FocalLengthsFollowInstantNgp) {
  const auto focal = [&](json keys, json frame_keys = json::object()) {
    json file = test::transforms_file(2);
    file.erase("fl_x");
    file.update(keys);
    file["frames"][0].update(frame_keys);
    write_transforms(file);
    const Intrinsics& k = read_scene(path()).frames[0].intrinsics;
    return std::pair{k.fx, k.fy};
  };
  const auto from_degrees = [](double size, double degrees) {
    return 0.5 * size / std::tan(degrees * 3.14159265358979323846 / 360);
  };
  const auto expect = [](std::pair<double, double> actual, double fx, double fy) {
    EXPECT_NEAR(actual.first, fx, 1e-9);
    EXPECT_NEAR(actual.second, fy, 1e-9);
  };
  expect(focal({{"fl_x", 40}}), 40, 40);
  expect(focal({{"fl_y", 41}}), 41, 41);
  expect(focal({{"fl_x", 40}, {"fl_y", 41}}), 40, 41);
  expect(focal({{"fl_x", "40"}}), 40, 40);
  const double x = from_degrees(48, 60), y = from_degrees(32, 50);
  expect(focal({{"x_fov", 60}}), x, x);
  expect(focal({{"x_fov", 60}, {"y_fov", 50}, {"fl_x", 40}}), x, y);
  expect(focal({{"camera_angle_x", 60 * 3.14159265358979323846 / 180}}), x, x);
  expect(focal({{"camera_angle_x", 1}, {"fl_x", 40}}), 40, 40);
  expect(focal({{"fl_x", 40}, {"fl_y", 41}}, {{"fl_x", 45}}), 45, 45);
  expect(focal({{"fl_x", 40}}, {{"w", 96}, {"h", 64}, {"x_fov", 60}}), 2 * x, 2 * x);
}

TEST_F(SceneFiles, MissingFocalLengthNamesTheKeys) {
  json file = test::transforms_file(2);
  file.erase("fl_x");
  write_transforms(file);
  const Error error = failure(path());
  EXPECT_TRUE(mentions(error.what(), "camera_angle_x")) << error.what();
  json bad = test::transforms_file(2);
  bad["fl_x"] = -5;
  write_transforms(bad);
  EXPECT_TRUE(mentions(failure(path()).what(), "focal length is -5"));
  bad["fl_x"] = "wide";
  write_transforms(bad);
  EXPECT_TRUE(mentions(failure(path()).what(), "not a number"));
}

TEST_F(SceneFiles, SizesDefaultToTheStoredPicture) {
  json file = test::transforms_file(2);
  file.erase("w");
  file.erase("h");
  file.erase("fl_x");
  file["camera_angle_x"] = 1.0;
  write_transforms(file);
  const Frame frame = read_scene(path()).frames[0];
  EXPECT_EQ(frame.width, 48);
  EXPECT_EQ(frame.height, 32);
  EXPECT_NEAR(frame.intrinsics.fx, 24 / std::tan(0.5), 1e-9);
  EXPECT_EQ(frame.intrinsics.cx, 24);
  EXPECT_EQ(frame.intrinsics.cy, 16);
}

TEST_F(SceneFiles, FractionalIntrinsicsAreTold) {
  json file = test::transforms_file(2);
  file.update({{"fl_x", 0.9}, {"fl_y", 1.35}, {"cx", 0.5}, {"cy", 0.5}});
  write_transforms(file);
  const Scene scene = read_scene(path());
  EXPECT_TRUE(warns(scene, "fractions"));
  EXPECT_NEAR(scene.frames[0].intrinsics.fx, 0.9 * 48, 1e-9);
  EXPECT_NEAR(scene.frames[0].intrinsics.fy, 1.35 * 32, 1e-9);
  EXPECT_EQ(scene.frames[0].intrinsics.cx, 24);
}

TEST_F(SceneFiles, OddLensesAreRefusedByName) {
  for (const auto& [keys, name] :
       {std::pair<json, std::string>{{{"camera_model", "EQUIRECTANGULAR"}}, "EQUIRECTANGULAR"},
        {{{"camera_model", "FISHEYE624"}}, "FISHEYE624"},
        {{{"equirectangular", true}}, "equirectangular"},
        {{{"latlong", true}}, "latlong"},
        {{{"ftheta_p0", 0.1}}, "f-theta"}}) {
    json file = test::transforms_file(2);
    file.update(keys);
    write_transforms(file);
    const Error error = failure(path());
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_TRUE(mentions(error.what(), name)) << error.what();
    EXPECT_TRUE(mentions(error.hint(), "undistort"));
  }
  json file = test::transforms_file(2);
  file.update({{"camera_model", "OPENCV_FISHEYE"}, {"k1", 0.1}});
  write_transforms(file);
  EXPECT_EQ(read_scene(path()).frames[0].distortion.model, LensModel::fisheye);
}

TEST_F(SceneFiles, TextEncodingsOfWindowsAreRead) {
  std::string text = test::transforms_file(2).dump(1);
  write_text(folder_ / "transforms.json", "\xEF\xBB\xBF" + text);
  EXPECT_EQ(read_scene(path()).frames.size(), 2U);
  std::string wide = "\xFF\xFE";
  for (const char c : text) wide += std::string{c, '\0'};
  write_text(folder_ / "transforms.json", wide);
  EXPECT_EQ(read_scene(path()).frames.size(), 2U);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
    text.replace(at, 1, "\r\n");
  write_text(folder_ / "transforms.json", text);
  EXPECT_EQ(read_scene(path()).frames.size(), 2U);
}

TEST_F(SceneFiles, WhatIsNoSceneIsToldApart) {
  const auto what = [&](std::string_view content) {
    write_text(folder_ / "transforms.json", content);
    return std::string(failure(path() + "/transforms.json").what());
  };
  EXPECT_TRUE(mentions(what(""), "empty"));
  EXPECT_TRUE(mentions(what("version https://git-lfs.github.com/spec/v1\noid sha256:1\n"), "LFS"));
  EXPECT_TRUE(mentions(what("<!DOCTYPE html><html>"), "web page"));
  EXPECT_TRUE(mentions(what("{\"frames\": ["), "not valid JSON"));
  EXPECT_TRUE(mentions(what("{\"a\": 1}"), "no cameras"));
  EXPECT_TRUE(mentions(what("{\"frames\": 3}"), "no list of frames"));
  EXPECT_TRUE(mentions(what("{\"frames\": []}"), "no frames"));
  EXPECT_TRUE(mentions(what("[1, 2]"), "no cameras"));
  EXPECT_TRUE(mentions(what("{\"fl_x\": 1e999, \"frames\": []}"), "1e999"));
  EXPECT_TRUE(mentions(what(std::string(200000, '[')), "not valid JSON"));
  EXPECT_TRUE(mentions(failure(path() + "/nothing").what(), "no such file"));
  std::filesystem::remove(folder_ / "transforms.json");
  const Error error = failure(path());
  EXPECT_TRUE(mentions(error.what(), "no scene"));
  EXPECT_TRUE(mentions(error.hint(), "opencv_cameras.json"));
}

TEST_F(SceneFiles, LactCamerasKeepTheirPlace) {
  json cameras = json::array();
  for (int i = 0; i < 4; ++i) cameras.push_back(test::lact_camera(i));
  cameras[1].erase("fx");
  cameras[2]["w2c"][0][0] = nullptr;
  write_text(folder_ / "opencv_cameras.json", cameras.dump());
  const Scene scene = read_scene(path());
  EXPECT_EQ(scene.usable(), (std::vector<int>{0, 3}));
  EXPECT_TRUE(mentions(scene.frames[1].problem, "fx is missing"));
  EXPECT_TRUE(mentions(scene.frames[2].problem, "not finite"));
}

TEST_F(SceneFiles, AnIndexLeadsToItsScenes) {
  write_text(folder_ / "opencv_cameras.json", json::array({test::lact_camera(0)}).dump());
  write_text(folder_ / "index.json", R"(["opencv_cameras.json", ".\\opencv_cameras.json"])");
  const std::string index = path() + "/index.json";
  EXPECT_EQ(find_scenes(index).size(), 2U);
  EXPECT_EQ(read_scene(index, {}, 1).frames.size(), 1U);
  EXPECT_THROW(read_scene(index, {}, 2), Error);
}

TEST_F(SceneFiles, BlenderSplitsAreMarked) {
  json train = test::transforms_file(2);
  json test_file = test::transforms_file(3);
  for (json& frame : train["frames"])
    frame["file_path"] = "./images/" + frame["file_path"].get<std::string>().substr(7, 1);
  write_text(folder_ / "transforms_train.json", train.dump());
  write_text(folder_ / "transforms_test.json", test_file.dump());
  const Scene scene = read_scene(path());
  ASSERT_EQ(scene.frames.size(), 5U);
  EXPECT_EQ(scene.frames[0].split, Split::train);
  EXPECT_EQ(scene.frames[4].split, Split::test);
  EXPECT_TRUE(warns(scene, "the picture of an earlier one"));
  EXPECT_EQ(read_scene(path() + "/transforms_test.json").frames.size(), 3U);
}

TEST_F(SceneFiles, NerfstudioListsSplitsAndTransforms) {
  json file = test::transforms_file(3);
  file["test_filenames"] = json::array({"images/1.png"});
  file["train_filenames"] = json::array({"./images/0.png", "images\\2.png"});
  const Transform applied{{{0, 1, 0, 1, 0, 0, 0, 0, -1}}, {1, 2, 3}};
  file["applied_transform"] = test::matrix_json(applied);
  file["applied_transform"].erase(3);
  file["applied_scale"] = 0.5;
  for (int i = 0; i < 3; ++i) {
    Transform pose = applied * test::ring_pose(i);
    pose.translation = 0.5 * pose.translation;
    for (std::size_t row = 0; row < 3; ++row)
      for (const std::size_t column : {1, 2}) pose.linear(row, column) *= -1;
    file["frames"][i]["transform_matrix"] = test::matrix_json(pose);
  }
  write_transforms(file);
  const Scene scene = read_scene(path());
  EXPECT_EQ(scene.frames[0].split, Split::train);
  EXPECT_EQ(scene.frames[1].split, Split::test);
  EXPECT_EQ(scene.frames[2].split, Split::train);
  for (int i = 0; i < 3; ++i)
    EXPECT_LE(
        length(inverse(scene.frames[static_cast<std::size_t>(i)].world_to_camera).translation -
               test::ring_pose(i).translation),
        1e-12);
  const Scene kept = read_scene(path(), {.keep_world = true});
  EXPECT_GT(
      length(inverse(kept.frames[0].world_to_camera).translation - test::ring_pose(0).translation),
      0.1);
}

TEST_F(SceneFiles, DownscaledFoldersAreTaken) {
  write_transforms(test::transforms_file(2));
  for (int i = 0; i < 2; ++i)
    test::write_picture(folder_ / fmt::format("images_2/{}.png", i), 24, 16);
  EXPECT_TRUE(mentions(read_scene(path()).frames[0].path, "/images/"));
  EXPECT_TRUE(mentions(read_scene(path(), {.downscale = 2}).frames[0].path, "/images_2/"));
  EXPECT_TRUE(mentions(failure(path(), {.downscale = 4}).what(), "none of the 2 frames"));
  std::filesystem::remove_all(folder_ / "images");
  const Scene scene = read_scene(path());
  EXPECT_TRUE(mentions(scene.frames[0].path, "/images_2/"));
  EXPECT_TRUE(warns(scene, "images_2"));
}

TEST_F(SceneFiles, AxesAndScaleCanBeToldByTheUser) {
  json cameras = json::array();
  for (int i = 0; i < 2; ++i) {
    cameras.push_back(test::lact_camera(i));
    // As a LaCT file with OpenGL's axes would have it: rows 1 and 2 negated.
    for (const std::size_t row : {1, 2})
      for (json& value : cameras.back()["w2c"][row]) value = -value.get<double>();
  }
  write_text(folder_ / "opencv_cameras.json", cameras.dump());
  const Scene scene = read_scene(path(), {.axes = CameraAxes::opengl, .scale = 2});
  const Transform pose = inverse(scene.frames[1].world_to_camera);
  const Transform expected = test::ring_pose(1);
  EXPECT_LE(length(pose.translation - 2 * expected.translation), 1e-12);
  EXPECT_LE(length(pose.linear.column(2) - expected.linear.column(2)), 1e-12);
  EXPECT_TRUE(mentions(scene.axes, "OpenGL"));
  const Scene plain = read_scene(path(), {.axes = CameraAxes::opencv});
  EXPECT_LE(
      length(inverse(plain.frames[1].world_to_camera).linear.column(2) + expected.linear.column(2)),
      1e-12);
  EXPECT_EQ(failure(path(), {.scale = 0}).kind(), ErrorKind::usage);
}

TEST_F(SceneFiles, PosesFarOutOfRangeAreNamed) {
  for (const double far : {1e200, 1e16}) {
    json file = test::transforms_file(3);
    file["frames"][1]["transform_matrix"][1][3] = far;
    file["frames"][2]["transform_matrix"] =
        test::matrix_json({{{far, 0, 0, 0, far, 0, 0, 0, far}}, {}});
    write_transforms(file);
    EXPECT_EQ(read_scene(path()).usable(), std::vector<int>{0}) << far;
  }
}

TEST_F(SceneFiles, FramesCanBeSortedNaturally) {
  json file = test::transforms_file(3);
  test::write_picture(folder_ / "images/10.png");
  file["frames"][0]["file_path"] = "images/10.png";
  write_transforms(file);
  EXPECT_EQ(read_scene(path()).frames[0].name, "images/10.png");
  EXPECT_EQ(read_scene(path(), {.sort_frames = true}).frames[2].name, "images/10.png");
}

}  // namespace
}  // namespace ttt::nvs
