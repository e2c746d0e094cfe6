// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "nvs/cameras/normalization.h"
#include "nvs/cameras/paths.h"
#include "nvs/scene/camera_path_file.h"
#include "tests/nvs/golden.h"
#include "tests/nvs/scene_files.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <numbers>

namespace ttt::nvs {
namespace {

using test::TempDir;

std::vector<Camera> ring(int count, double step = 1) {
  std::vector<Camera> cameras;
  for (int i = 0; i < count; ++i)
    cameras.push_back({test::ring_pose(static_cast<int>(i * step)), {50, 50, 24, 16}, 48, 32});
  return cameras;
}

/// Cameras side by side that look along +z of the world.
std::vector<Camera> row(int count) {
  std::vector<Camera> cameras;
  for (int i = 0; i < count; ++i)
    cameras.push_back({{{}, {0.5 * i, 0, 0}}, {50, 50, 24, 16}, 48, 32});
  return cameras;
}

double rotation_error(const Matrix3& m) {
  const Matrix3 product = transpose(m) * m;
  double worst = 0;
  for (std::size_t i = 0; i < 9; ++i)
    worst = std::max(worst, std::abs(product.m[i] - (i % 4 == 0 ? 1 : 0)));
  return worst;
}

TEST(Geometry, QuaternionsAndMatricesAgree) {
  for (int i = 0; i < 9; ++i) {
    const Matrix3 m = test::ring_pose(i).linear;
    const Matrix3 back = rotation(quaternion(m));
    for (std::size_t k = 0; k < 9; ++k) EXPECT_NEAR(back.m[k], m.m[k], 1e-12);
  }
  // Half turns, where three of the four ways to compute it fail.
  for (const Matrix3& m :
       {Matrix3{{1, 0, 0, 0, -1, 0, 0, 0, -1}}, Matrix3{{-1, 0, 0, 0, 1, 0, 0, 0, -1}},
        Matrix3{{-1, 0, 0, 0, -1, 0, 0, 0, 1}}}) {
    const Matrix3 back = rotation(quaternion(m));
    for (std::size_t k = 0; k < 9; ++k) EXPECT_NEAR(back.m[k], m.m[k], 1e-12);
  }
  const Vector3 to = normalize(Vector3{1, 2, -3});
  for (const Vector3& from : {Vector3{0, 0, 1}, to, -to})
    EXPECT_LE(length(rotation_between(from, to) * from - to), 1e-12);
}

TEST(Normalization, CancelsSimilarityTransforms) {
  std::vector<Camera> cameras = ring(4);
  std::vector<Camera> moved = cameras;
  const Matrix3 turn = rotation({0.3, 0.5, -0.2, 0.8});
  for (Camera& camera : moved) {
    Transform& pose = camera.camera_to_world;
    pose.linear = turn * pose.linear;
    pose.translation = 7.5 * (turn * pose.translation) + Vector3{10, -20, 30};
  }
  const PoseNormalization a = normalize_poses(cameras);
  const PoseNormalization b = normalize_poses(moved);
  EXPECT_NEAR(b.scale, 7.5 * a.scale, 1e-9);
  for (std::size_t i = 0; i < cameras.size(); ++i)
    EXPECT_LE(test::largest_difference(test::poses_of({a.apply(cameras[i])}),
                                       test::poses_of({b.apply(moved[i])})),
              1e-12);
}

TEST(Normalization, HasAnAnswerForDegenerateRigs) {
  std::vector<std::vector<Camera>> rigs;
  rigs.push_back(ring(1));
  rigs.push_back({ring(1)[0], ring(1)[0]});
  std::vector<Camera> level_ring;  // inward all around: forward axes along the up axis
  for (Camera camera : ring(9)) {
    Vector3 place = camera.position();
    place.z = 1;
    camera.camera_to_world = look_at(place, {}, {0, 0, 1});
    level_ring.push_back(camera);
  }
  rigs.push_back(level_ring);
  std::vector<Camera> outward;
  for (const double angle : {0.0, 90.0, 180.0, 270.0}) {
    const double a = angle * std::numbers::pi / 180;
    const Vector3 p{std::cos(a), std::sin(a), 0};
    outward.push_back({look_at(p, 2 * p, {0, 0, 1}), {50, 50, 24, 16}, 48, 32});
  }
  rigs.push_back(outward);
  std::vector<Camera> down;  // from above, rolled by quarter turns: up cancels too
  for (int i = 0; i < 4; ++i) {
    const Matrix3 roll =
        rotation({std::cos(i * std::numbers::pi / 4), 0, 0, std::sin(i * std::numbers::pi / 4)});
    down.push_back({{roll * Matrix3{{1, 0, 0, 0, -1, 0, 0, 0, -1}}, {0.1 * i, 0, 3}},
                    {50, 50, 24, 16},
                    48,
                    32});
  }
  rigs.push_back(down);
  for (std::size_t i = 0; i < rigs.size(); ++i) {
    const PoseNormalization normalization = normalize_poses(rigs[i]);
    EXPECT_GT(normalization.scale, 0) << i;
    double largest = 0;
    for (const Camera& camera : rigs[i]) {
      const Transform pose = normalization.apply(camera.camera_to_world);
      EXPECT_TRUE(is_finite(pose)) << i;
      EXPECT_LE(rotation_error(pose.linear), 1e-9) << i;
      const Vector3& p = pose.translation;
      largest = std::max({largest, std::abs(p.x), std::abs(p.y), std::abs(p.z)});
    }
    EXPECT_LE(largest, 1 + 1e-12) << i;
    EXPECT_NE(normalization.remark, "") << i;
  }
  // The level fallback keeps the horizon: the ring's up axis is the frame's -y.
  const PoseNormalization level = normalize_poses(outward);
  EXPECT_NEAR((level.to_normal.linear * Vector3{0, 0, 1}).y, -1, 1e-9);
}

TEST(FitObject, PutsAnyCaptureWhereTheObjectModelsExpectIt) {
  std::vector<Camera> cameras = ring(9);
  const Matrix3 turn = rotation({0.9, 0.3, -0.2, 0.1});
  for (Camera& camera : cameras) {
    Transform& pose = camera.camera_to_world;
    pose.linear = turn * pose.linear;
    pose.translation = 11 * (turn * pose.translation) + Vector3{1, 2, 3};
  }
  const PoseNormalization fit = fit_object(cameras);
  double distance = 0;
  for (Camera& camera : cameras) {
    camera = fit.apply(camera);
    distance += length(camera.position()) / 9;
    EXPECT_LE(rotation_error(camera.camera_to_world.linear), 1e-12);
  }
  EXPECT_NEAR(distance, 2.7, 1e-9);
  EXPECT_LE(length(*axes_center(cameras)), 1e-9);
  EXPECT_GT(mean_up(cameras).z, 0.999);
  EXPECT_THROW(fit_object(row(4)), Error);
  EXPECT_THROW(fit_object(ring(1)), Error);
  for (Camera& camera : cameras)  // looking away
    for (std::size_t r = 0; r < 3; ++r)
      for (const std::size_t c : {0, 2}) camera.camera_to_world.linear(r, c) *= -1;
  EXPECT_THROW(fit_object(cameras), Error);
}

TEST(Paths, TheOfficialTurntableStartsWhereItShould) {
  const std::vector<Camera> path = turntable_path({});
  ASSERT_EQ(path.size(), 120U);
  EXPECT_NEAR(path[0].position().x, 2.0351597, 1e-7);
  EXPECT_NEAR(path[0].position().z, 1.175, 1e-12);
  TurntableOptions wide;
  wide.width = 96;
  wide.height = 64;
  EXPECT_EQ(turntable_path(wide)[0].intrinsics.cx, 48);
  wide.swap_size = true;  // the official caller's defect
  EXPECT_EQ(turntable_path(wide)[0].intrinsics.cx, 32);
  wide.frames = 1;
  EXPECT_THROW(turntable_path(wide), Error);
}

TEST(Paths, OrbitsCircleTheCommonPoint) {
  const std::vector<Camera> path = orbit_path(ring(9), 12, 64, 64);
  ASSERT_EQ(path.size(), 12U);
  const Vector3 center = *axes_center(ring(9));
  for (const Camera& camera : path) {
    EXPECT_NEAR(length(camera.position() - center), length(path[0].position() - center), 1e-9);
    EXPECT_NEAR(dot(camera.forward(), normalize(center - camera.position())), 1, 1e-12);
    EXPECT_LE(rotation_error(camera.camera_to_world.linear), 1e-12);
    EXPECT_EQ(camera.width, 64);
    EXPECT_EQ(camera.intrinsics.fx, 100);
  }
  EXPECT_THROW(orbit_path(row(3), 12, 64, 64), Error);
  const Vector3 given{0.5, 0.25, 4};
  for (const Camera& camera : orbit_path(row(3), 12, 64, 64, given))
    EXPECT_NEAR(dot(camera.forward(), normalize(given - camera.position())), 1, 1e-12);
  EXPECT_NEAR(length(orbit_path(ring(9), 1, 64, 64, given)[0].position() - path[0].position()), 0,
              1e-12)
      << "axes that meet come first";
  EXPECT_THROW(orbit_path(ring(9), 0, 64, 64), Error);
}

TEST(Paths, SpiralsStayWithinTheRig) {
  for (const std::vector<Camera>& cameras : {row(5), ring(3), ring(1)}) {
    const std::vector<Camera> path = spiral_path(cameras, 30, 48, 32);
    ASSERT_EQ(path.size(), 30U);
    for (const Camera& camera : path) {
      EXPECT_TRUE(is_finite(camera.camera_to_world));
      EXPECT_LE(rotation_error(camera.camera_to_world.linear), 1e-9);
    }
  }
  for (const Camera& camera : spiral_path(row(5), 30, 48, 32)) {
    EXPECT_LE(std::abs(camera.position().x - 1), 1 + 1e-9);
    EXPECT_GT(camera.forward().z, 0.9);
  }
}

TEST(Paths, InterpolationOnTheSphereKeepsRotations) {
  const std::vector<Camera> cameras = ring(4);
  for (const Interpolation mode : {Interpolation::sphere, Interpolation::spline}) {
    const std::vector<Camera> path = interpolated_path(cameras, 9, mode);
    ASSERT_EQ(path.size(), 31U);
    for (const Camera& camera : path)
      EXPECT_LE(rotation_error(camera.camera_to_world.linear), 1e-12);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(path[10 * i].camera_to_world, cameras[i].camera_to_world);
    // No jumps: each step is a small part of the way.
    for (std::size_t i = 1; i < path.size(); ++i)
      EXPECT_GT(dot(path[i].forward(), path[i - 1].forward()), std::cos(0.15)) << i;
  }
  // The linear mode shears.
  EXPECT_GT(rotation_error(
                interpolated_path(cameras, 1, Interpolation::linear)[1].camera_to_world.linear),
            0.05);
  // At constant speed on the sphere.
  const std::vector<Camera> two(cameras.begin(), cameras.begin() + 2);
  const std::vector<Camera> path = interpolated_path(two, 3, Interpolation::sphere);
  const auto angle = [&](std::size_t i) {
    return std::acos(std::min(1.0, dot(quaternion(path[i].camera_to_world.linear),
                                       quaternion(path[i + 1].camera_to_world.linear))));
  };
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NEAR(angle(i), angle(0), 1e-9);
  EXPECT_EQ(interpolated_path(ring(1), 5, Interpolation::spline).size(), 1U);
  EXPECT_THROW(interpolated_path(cameras, -1, Interpolation::sphere), Error);
}

TEST(Paths, FilesComeBack) {
  const TempDir folder;
  std::vector<Camera> cameras = ring(5);
  cameras[2].intrinsics = {51.25, 49.5, 23.125, 17.75};
  test::write_text(folder / "path.json", camera_path_json(cameras));
  const std::string file = (folder / "path.json").string();
  const std::vector<Camera> back = read_camera_path(file, 48, 32);
  EXPECT_LE(test::largest_difference(test::poses_of(back), test::poses_of(cameras)), 1e-13);
  EXPECT_EQ(test::intrinsics_of(back), test::intrinsics_of(cameras));
  EXPECT_EQ(read_camera_path(file, 96, 64)[2].intrinsics.fx, 102.5);
}

TEST(Paths, NerfstudioPathsAreRead) {
  const TempDir folder;
  Transform pose = test::ring_pose(1);
  for (std::size_t r = 0; r < 3; ++r)
    for (const std::size_t c : {1, 2}) pose.linear(r, c) *= -1;
  nlohmann::json flat = nlohmann::json::array();
  for (const double value : matrix4(pose)) flat.push_back(value);
  const nlohmann::json file{
      {"render_width", 96},
      {"render_height", 64},
      {"camera_path", {{{"camera_to_world", flat}, {"fov", 60}, {"aspect", 1.5}}}}};
  test::write_text(folder / "path.json", file.dump());
  const Camera camera = read_camera_path((folder / "path.json").string(), 96, 64).at(0);
  EXPECT_LE(test::largest_difference(test::poses_of({camera}),
                                     test::poses_of({{test::ring_pose(1), {}, 0, 0}})),
            1e-12);
  EXPECT_NEAR(vertical_field_of_view(camera), 60, 1e-9);
}

TEST(Paths, DamagedFilesAreToldApart) {
  const TempDir folder;
  const std::string path = (folder / "path.json").string();
  for (const char* content :
       {"", "[]", "{}", "3", "[1]", R"([{"w":1}])",
        R"([{"w2c":[[1]],"fx":1,"fy":1,"cx":0,"cy":0}])",
        R"([{"w":8,"h":8,"fx":0,"fy":1,"cx":0,"cy":0,"w2c":[[1,0,0,0],[0,1,0,0],[0,0,1,0]]}])",
        R"([{"w":8,"h":8,"fx":1,"fy":1,"cx":0,"cy":0,"w2c":[[1,0,0,0],[0,1,0,0],[0,0,0,0]]}])",
        R"([{"w":8,"h":8,"fx":1,"fy":1,"cx":0,"cy":0,"w2c":[[NaN,0,0,0],[0,1,0,0],[0,0,1,0]]}])",
        R"([{"w":8,"h":8,"fx":1,"fy":1,"cx":0,"cy":1e300,"w2c":[[1,0,0,0],[0,1,0,0],[0,0,1,0]]}])",
        R"([{"w":8,"h":8,"fx":1e-9,"fy":1,"cx":0,"cy":0,"w2c":[[1,0,0,0],[0,1,0,0],[0,0,1,0]]}])",
        R"([{"w":8,"h":8,"fx":1,"fy":1,"cx":0,"cy":0,"w2c":[[1,0,0,1e300],[0,1,0,0],[0,0,1,0]]}])",
        R"({"camera_path": []})",
        R"({"camera_path": [{}], "render_width": 8, "render_height": 8})"}) {
    test::write_text(path, content);
    try {
      read_camera_path(path, 8, 8);
      ADD_FAILURE() << content;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << content;
    }
  }
}

}  // namespace
}  // namespace ttt::nvs
