// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Scene files whose values no camera can have.
#include "nvs/scene/views.h"
#include "tests/nvs/scene_files_fixture.h"

namespace ttt::nvs {
namespace {

using nlohmann::json;
using test::write_text;

TEST_F(SceneFiles, AnglesBeyondAHalfTurnAreNone) {
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, double>>{{"camera_angle_x", 50},
                                                   {"camera_angle_x", 7.1},
                                                   {"camera_angle_y", -0.8},
                                                   {"camera_angle_x", 0},
                                                   {"x_fov", 410},
                                                   {"y_fov", 180},
                                                   {"x_fov", -50}}) {
    json file = test::transforms_file(2);
    file.erase("fl_x");
    file[key] = value;
    write_transforms(file);
    const std::string what = failure(path()).what();
    EXPECT_TRUE(mentions(what, key)) << what;
    EXPECT_TRUE(mentions(what, "it is an angle between 0 and")) << what;
  }
}

TEST_F(SceneFiles, IntrinsicsAndSizesBeyondAllMeasureAreNamed) {
  const auto problem = [&](const json& keys) {
    json file = test::transforms_file(2);
    file["frames"][0].update(keys);
    write_transforms(file);
    return read_scene(path()).frames[0].problem;
  };
  EXPECT_EQ(problem(json::object()), "");
  for (const double focal : {1e-300, 0.01, 1e6, 1e300})
    EXPECT_TRUE(mentions(problem({{"fl_x", focal}}), "focal length")) << focal;
  for (const double centre : {1e300, -1e9})
    EXPECT_TRUE(mentions(problem({{"cx", centre}}), "principal point")) << centre;
  for (const double side : {-48.0, 1e300, 2e6})
    EXPECT_TRUE(mentions(problem({{"w", side}}), "size") ||
                mentions(problem({{"w", side}}), "width"))
        << side;
  EXPECT_EQ(problem({{"fl_x", 4e4}, {"cx", -900}}), "") << "a telescope's, far off the centre";
}

TEST_F(SceneFiles, AZeroByteEndsNoName) {
  EXPECT_NE(read_name(std::string("images/0.png\0x", 14)).problem, "");
}

TEST_F(SceneFiles, CommentsAreNoMistake) {
  write_text(folder_ / "transforms.json",
             "// of my phone\n" + test::transforms_file(2).dump(1) + "/* the end */");
  EXPECT_EQ(read_scene(path()).frames.size(), 2U);
}

TEST_F(SceneFiles, PicturesOfAnotherShapeAreRefused) {
  json file = test::transforms_file(4);
  write_transforms(file);
  test::write_picture(folder_ / "images/0.png", 32, 48);  // lies on its side
  test::write_picture(folder_ / "images/1.png", 48, 24);  // cropped
  test::write_picture(folder_ / "images/2.png", 7, 5);    // a small copy, sides rounded
  const Scene scene = read_scene(path());
  const ViewOptions options{.width = 24, .height = 16};
  for (int i = 0; i < 2; ++i) {
    try {
      load_view(scene.frames[static_cast<std::size_t>(i)], i, options);
      ADD_FAILURE() << i;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_TRUE(mentions(error.what(), "another shape")) << error.what();
    }
  }
  EXPECT_NO_THROW(load_view(scene.frames[2], 2, options));
  EXPECT_NO_THROW(load_view(scene.frames[3], 3, options));
  // The official loader doesn't look.
  ViewOptions official = options;
  official.reference_compat = true;
  EXPECT_NO_THROW(load_view(scene.frames[0], 0, official));
}

}  // namespace
}  // namespace ttt::nvs
