// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The points of COLMAP models: where they are there, absent, or damaged.
#include "core/error.h"
#include "nvs/cameras/normalization.h"
#include "nvs/scene/colmap_model.h"
#include "nvs/scene/rig.h"
#include "tests/nvs/golden.h"
#include "tests/nvs/scene_files.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <limits>

namespace ttt::nvs {
namespace {

using test::write_text;

constexpr int kCameras = 4;

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

struct Point {
  double x, y, z;
  int views;
};

/// points3D.bin with colours 10, 20, 30.
std::string binary(const std::vector<Point>& points) {
  std::string out;
  const auto put = [&](auto value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  put(std::uint64_t{points.size()});
  std::uint64_t id = 1;
  for (const Point& point : points) {
    put(id++);
    for (const double value : {point.x, point.y, point.z}) put(value);
    for (const std::uint8_t value : {10, 20, 30}) put(value);
    put(0.5);
    put(static_cast<std::uint64_t>(point.views));
    for (int i = 0; i < point.views; ++i) put(std::uint64_t{1});
  }
  return out;
}

std::string text(const std::vector<Point>& points) {
  std::string out = "# 3D point list\n";
  int id = 1;
  for (const Point& point : points) {
    out += fmt::format("{} {} {} {} 10 20 30 0.5", id++, point.x, point.y, point.z);
    for (int i = 0; i < point.views; ++i) out += fmt::format(" {} {}", i + 1, 7);
    out += "\n";
  }
  return out;
}

/// A small cloud around the origin, which the ring looks at, and one point far out.
std::vector<Point> cloud() {
  std::vector<Point> points;
  for (int i = 0; i < 100; ++i)
    points.push_back({0.01 * i - 0.5, 0.3 * std::sin(i), 0.2 * std::cos(3 * i), 2 + i % 3});
  points.push_back({500, 0, 0, 2});
  return points;
}

class ColmapPointFiles : public testing::Test {
 protected:
  void SetUp() override {
    test::write_ring_pictures(folder_.path(), kCameras);
    test::write_colmap(folder_ / "sparse/0", test::colmap_text(kCameras));
  }
  Scene read_with(const std::string& name, const std::string& content,
                  const SceneOptions& options = {}) {
    write_text(folder_ / "sparse/0" / name, content);
    return read_scene(folder_.path().string(), options);
  }
  /// The one warning of a scene whose cameras are fine.
  std::string warning_for(const std::string& name, const std::string& content) {
    const Scene scene = read_with(name, content);
    EXPECT_EQ(scene.usable().size(), std::size_t{kCameras});
    EXPECT_EQ(scene.warnings.size(), 1U) << name;
    return scene.warnings.empty() ? "" : scene.warnings[0];
  }
  test::TempDir folder_;
};

TEST_F(ColmapPointFiles, BothFormsSayTheSame) {
  const std::vector<Point> points = cloud();
  const Scene none = read_scene(folder_.path().string());
  EXPECT_TRUE(none.points.empty());
  EXPECT_TRUE(none.warnings.empty());
  for (const bool is_text : {true, false}) {
    // The binary file counts only where the cameras are binary too, or no text is there.
    const Scene scene = is_text ? read_with("points3D.txt", text(points)) : [&] {
      std::filesystem::remove(folder_ / "sparse/0/points3D.txt");
      return read_with("points3D.bin", binary(points));
    }();
    EXPECT_TRUE(scene.warnings.empty());
    ASSERT_EQ(scene.points.size(), points.size());
    EXPECT_EQ(scene.points[17].position.x, points[17].x);
    EXPECT_EQ(scene.points[17].position.y, points[17].y);
    EXPECT_EQ(scene.points[17].position.z, points[17].z);
    EXPECT_EQ(scene.points[17].rgb, (std::array<std::uint8_t, 3>{10, 20, 30}));
    EXPECT_EQ(scene.points[17].views, 4U);
  }
  // Of both, the text belongs to the text cameras.
  EXPECT_EQ(read_with("points3D.txt", text({{1, 2, 3, 2}})).points.size(), 1U);
}

TEST_F(ColmapPointFiles, TheScaleMovesThemToo) {
  const Scene scene = read_with("points3D.txt", text({{1, 2, 3, 2}}), {.scale = 2});
  EXPECT_EQ(scene.points.at(0).position.z, 6);
}

TEST_F(ColmapPointFiles, TextInAllItsForms) {
  EXPECT_TRUE(read_with("points3D.txt", "").points.empty());
  EXPECT_TRUE(read_with("points3D.txt", "# only\n\n# comments\n").points.empty());
  EXPECT_EQ(read_with("points3D.txt", "\n1 0 0 0 1 2 3 0.5\n\n2 1 1 1 0 0 255 0 1 0").points.size(),
            2U);
  EXPECT_EQ(read_with("points3D.txt", "1 +1 -2e-1 0 1 2 3 0.5\t1 2\r\n").points.size(), 1U);
}

TEST_F(ColmapPointFiles, DamagedTextIsNamedAndLeftOut) {
  for (const char* line :
       {"2 1 2", "2 1 2 x 1 2 3 0.5", "2 1 2 3 256 2 3 0.5", "2 1 2 3 -1 2 3 0.5",
        "2 1 2 3 1.5 2 3 0.5", "x 1 2 3 1 2 3 0.5", "2 1 2 3 1 2 3 0.5 7", "2 1 2 3 1 2 3 e"}) {
    const std::string warning =
        warning_for("points3D.txt", fmt::format("1 0 0 0 1 2 3 0.5\n{}\n", line));
    EXPECT_TRUE(mentions(warning, "points3D.txt, line 2")) << warning;
    EXPECT_TRUE(read_scene(folder_.path().string()).points.empty()) << line;
  }
}

TEST_F(ColmapPointFiles, DamagedBinaryIsNamedAndLeftOut) {
  const std::string good = binary({{1, 2, 3, 2}, {4, 5, 6, 3}});
  EXPECT_EQ(read_with("points3D.bin", good).points.size(), 2U);
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_TRUE(mentions(warning_for("points3D.bin", good.substr(0, length)), "cut or damaged"))
        << length;
  // Counts that would take all memory: of points, and of the first one's track.
  for (const std::size_t at : {std::size_t{7}, std::size_t{8 + 51 - 1}}) {
    std::string huge = good;
    huge[at] = '\x7F';
    EXPECT_TRUE(mentions(warning_for("points3D.bin", huge), "cut or damaged")) << at;
  }
}

TEST_F(ColmapPointFiles, ImpossiblePositionsAreCounted) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const double bad : {kInfinite, -kInfinite, std::nan(""), 1e300}) {
    const std::string warning =
        warning_for("points3D.bin", binary({{1, 2, 3, 2}, {0, bad, 0, 2}, {bad, 0, 0, 2}}));
    EXPECT_TRUE(mentions(warning, "2 of 3 points")) << warning;
    EXPECT_EQ(read_scene(folder_.path().string()).points.size(), 1U);
  }
}

TEST_F(ColmapPointFiles, TheRigTellsWhereTheyAre) {
  const Scene without = read_scene(folder_.path().string());
  EXPECT_FALSE(mentions(rig_text(summarize_rig(without)), "points"));
  const Scene scene = read_with("points3D.bin", binary(cloud()));
  const RigSummary rig = summarize_rig(scene);
  EXPECT_EQ(rig.points, 101U);
  EXPECT_NEAR(rig.views_per_point, 3, 0.05);
  EXPECT_NEAR(rig.points_middle.x, 0, 0.02);
  EXPECT_GT(rig.points_high.x, 0.4);
  EXPECT_LT(rig.points_high.x, 0.5) << "one far point doesn't count";
  EXPECT_EQ(rig.points_ahead, 1);
  EXPECT_TRUE(rig.warnings.empty());
  EXPECT_TRUE(mentions(rig_text(rig), "points     101, each in 2.98 pictures")) << rig_text(rig);
  EXPECT_FALSE(rig.center_of_points);
  EXPECT_EQ(rig.center->x, summarize_rig(without).center->x) << "axes that meet come first";

  // The drawing: dots in light shades of their colours, and the cameras hardly smaller.
  const auto count = [](const Image& image, int r, int g, int b) {
    int found = 0;
    for (std::size_t i = 0; i + 2 < image.rgb.size(); i += 3)
      found += image.rgb[i] == r && image.rgb[i + 1] == g && image.rgb[i + 2] == b ? 1 : 0;
    return found;
  };
  EXPECT_EQ(count(draw_rig(without, {}, {}), 84, 91, 98), 0);
  const Image drawn = draw_rig(scene, {}, {});
  EXPECT_GT(count(drawn, 84, 91, 98), 200);
  EXPECT_EQ(drawn.width, 1280);
}

TEST_F(ColmapPointFiles, PointsBehindTheCamerasAreSuspicious) {
  std::vector<Point> behind;
  for (int i = 0; i < 9; ++i) behind.push_back({0, 0, 500.0 + i, 2});
  const Scene scene = read_with("points3D.bin", binary(behind));
  const RigSummary rig = summarize_rig(scene);
  ASSERT_EQ(rig.warnings.size(), 1U);
  EXPECT_TRUE(mentions(rig.warnings[0], "look away from the points"));
}

// Cameras side by side have no common point; the model's points have a middle.
TEST(ColmapPoints, ParallelCamerasLookAtThem) {
  Scene scene;
  for (int i = 0; i < 3; ++i) {
    Frame frame;
    frame.path = std::to_string(i);
    frame.width = 48;
    frame.height = 32;
    frame.intrinsics = {50, 50, 24, 16};
    frame.world_to_camera.translation = {-0.5 * i, 0, 0};
    scene.frames.push_back(frame);
  }
  EXPECT_FALSE(summarize_rig(scene).center.has_value());
  for (const double z : {3.0, 4.0, 5.0}) scene.points.push_back({{0.5, 0, z}, {}, 2});
  const RigSummary rig = summarize_rig(scene);
  ASSERT_TRUE(rig.center.has_value());
  EXPECT_EQ(rig.center->z, 4);
  EXPECT_TRUE(mentions(rig_text(rig), "(of the points)"));
  EXPECT_EQ(rig.facing, 1);
  EXPECT_GT(draw_rig(scene, {}, {}).width, 0);
}

TEST(ColmapPoints, GoldenModelsHaveTheSameOnes) {
  TTT_REQUIRE_SHARED("golden/nvs/formats/colmap_bin");
  const Scene bin = read_scene(test::shared("golden/nvs/formats/colmap_bin").string());
  const Scene txt = read_scene(test::shared("golden/nvs/formats/colmap_text").string());
  ASSERT_EQ(bin.points.size(), 3U);
  ASSERT_EQ(txt.points.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(bin.points[i].position.x, txt.points[i].position.x);
    EXPECT_EQ(bin.points[i].position.z, txt.points[i].position.z);
    EXPECT_EQ(bin.points[i].rgb, txt.points[i].rgb);
    EXPECT_EQ(bin.points[i].views, 4U);
  }
  EXPECT_EQ(txt.points[2].position.x, -0.4);
  EXPECT_EQ(txt.points[1].rgb[1], 180);
}

}  // namespace
}  // namespace ttt::nvs
