// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Loading views: sizes, orientation, alpha, lenses.
#include "core/cancel.h"
#include "nvs/cameras/crop.h"
#include "nvs/scene/rig.h"
#include "nvs/scene/views.h"
#include "tests/nvs/golden.h"
#include "tests/nvs/png_files.h"
#include "tests/nvs/scene_files.h"

#include <gtest/gtest.h>

#include <functional>

namespace ttt::nvs {
namespace {

using test::TempDir;

Frame frame_of(const std::filesystem::path& path, int width, int height) {
  Frame frame;
  frame.name = path.filename().string();
  frame.path = path.string();
  frame.width = width;
  frame.height = height;
  frame.intrinsics = {50, 50, width / 2.0, height / 2.0};
  return frame;
}

/// A 3x2 PNG, six colours, with an EXIF orientation.
void write_turned_png(const std::filesystem::path& path, std::uint8_t orientation) {
  std::vector<std::uint8_t> samples;
  for (std::uint8_t i = 0; i < 6; ++i)
    for (int c = 0; c < 3; ++c) samples.push_back(static_cast<std::uint8_t>(40 * i));
  test::write_png(path, {"RGB", 3, 2, samples, {}});
  std::string text = test::read_text(path);
  // An eXIf chunk behind the header; its checksum comes from the bytes.
  const std::string exif{"MM\0\x2A\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", 19};
  std::string chunk = "eXIf" + exif + static_cast<char>(orientation) + std::string(6, '\0');
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : chunk) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int k = 0; k < 8; ++k) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
  }
  crc = ~crc;
  const auto big_endian = [](std::uint32_t value) {
    return std::string{static_cast<char>(value >> 24), static_cast<char>(value >> 16),
                       static_cast<char>(value >> 8), static_cast<char>(value)};
  };
  text.insert(33,
              big_endian(static_cast<std::uint32_t>(chunk.size() - 4)) + chunk + big_endian(crc));
  test::write_text(path, text);
}

TEST(LoadView, OrientationTurnsOnlyPicturesThatWereDeclaredUpright) {
  const TempDir folder;
  write_turned_png(folder / "turned.png", 6);
  ViewOptions options;
  options.width = 3;
  options.height = 2;
  // As declared: the stored pixels, whatever the tag says.
  const View stored = load_view(frame_of(folder / "turned.png", 3, 2), 0, options);
  EXPECT_EQ(stored.image.rgb[0], 0);
  EXPECT_EQ(stored.image.rgb[15], 200);
  // Declared lying on its side: the poses were made from upright pictures.
  options.width = 2;
  options.height = 3;
  const View upright = load_view(frame_of(folder / "turned.png", 2, 3), 0, options);
  EXPECT_EQ(upright.image.rgb[0], 120);
  EXPECT_EQ(upright.camera.intrinsics.cx, 1);
  // Half a turn leaves the size alone, so the pixels stay.
  write_turned_png(folder / "half.png", 3);
  options.width = 3;
  options.height = 2;
  EXPECT_EQ(load_view(frame_of(folder / "half.png", 3, 2), 0, options).image.rgb[0], 0);
}

TEST(LoadView, IntrinsicsFollowTheStoredSize) {
  const TempDir folder;
  test::write_picture(folder / "half.png", 24, 16);
  ViewOptions options;
  options.width = 24;
  options.height = 16;
  const View view = load_view(frame_of(folder / "half.png", 48, 32), 3, options);
  EXPECT_EQ(view.index, 3);
  EXPECT_EQ(view.camera.intrinsics, (Intrinsics{25, 25, 12, 8}));
}

TEST(LoadView, AlphaGoesOnWhite) {
  const TempDir folder;
  test::write_png(folder / "rgba.png", {"RGBA", 2, 1, {200, 0, 0, 255, 200, 0, 0, 0}, {}});
  test::write_png(folder / "la.png", {"LA", 2, 1, {10, 255, 10, 0}, {}});
  ViewOptions options;
  options.width = 2;
  options.height = 1;
  const View rgba = load_view(frame_of(folder / "rgba.png", 2, 1), 0, options);
  EXPECT_EQ(rgba.image.rgb, (std::vector<std::uint8_t>{200, 0, 0, 255, 255, 255}));
  const View grey = load_view(frame_of(folder / "la.png", 2, 1), 0, options);
  EXPECT_EQ(grey.image.rgb, (std::vector<std::uint8_t>{10, 10, 10, 255, 255, 255}));
}

TEST(LoadViews, MixedSizesAndDamagedPicturesInOneRun) {
  const TempDir folder;
  test::write_picture(folder / "a.png", 48, 32);
  test::write_picture(folder / "b.png", 20, 60);
  test::write_text(folder / "c.png", "not a picture");
  Scene scene;
  scene.frames = {frame_of(folder / "a.png", 48, 32), frame_of(folder / "b.png", 20, 60),
                  frame_of(folder / "c.png", 48, 32)};
  ViewOptions options;
  options.width = 16;
  options.height = 16;
  options.workers = 3;
  const std::vector<int> order{2, 0, 1};
  std::int64_t reported = 0;
  const std::vector<View> views = load_views(
      scene, order, options, [&](const ProgressReport& report) { reported = report.done; });
  EXPECT_EQ(reported, 3);
  ASSERT_EQ(views.size(), 3U);
  ASSERT_TRUE(views[0].error.has_value());
  EXPECT_EQ(views[0].error->kind(), ErrorKind::input);
  EXPECT_EQ(views[1].index, 0);
  for (const std::size_t i : {1, 2}) {
    EXPECT_FALSE(views[i].error.has_value());
    EXPECT_EQ(views[i].image.width, 16);
    EXPECT_EQ(views[i].image.height, 16);
  }
  const std::vector<int> outside{3};
  EXPECT_THROW(load_views(scene, outside, options), Error);
  options.width = 0;
  EXPECT_THROW(load_views(scene, order, options), Error);
}

TEST(LoadViews, CancellationStops) {
  const TempDir folder;
  test::write_picture(folder / "a.png");
  Scene scene;
  scene.frames = {frame_of(folder / "a.png", 48, 32)};
  const std::vector<int> all{0};
  request_cancel();
  try {
    load_views(scene, all, {});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
  }
  reset_cancel();
}

TEST(Undistortion, ZeroDistortionIsTheIdentity) {
  const Intrinsics k{50, 51, 20, 17};
  const UndistortPlan plan = plan_undistortion({}, k, 48, 32, false, "lens");
  EXPECT_EQ(plan.undistorted, k);
}

Distortion lens_of(LensModel model, std::array<double, 4> k, std::array<double, 2> p = {}) {
  Distortion lens;
  lens.model = model;
  lens.k = k;
  lens.p = p;
  return lens;
}

TEST(Undistortion, PointsComeBack) {
  for (const Distortion& lens :
       {lens_of(LensModel::polynomial, {-0.05, 0.01, 0, 0}, {0.001, -0.001}),
        lens_of(LensModel::fisheye, {0.05, -0.01, 0.002, 0})}) {
    const ImagePoint back = undistort(lens, distort(lens, {0.3, -0.2}));
    EXPECT_NEAR(back.x, 0.3, 1e-5);
    EXPECT_NEAR(back.y, -0.2, 1e-5);
  }
}

TEST(Undistortion, AFisheyePictureBecomesAPinholePicture) {
  // A pattern of 30-degree sectors and rings, seen through an ideal equidistant lens.
  const int size = 200;
  const double focal = 90;
  AlphaImage seen{{size, size, {}}, {}};
  const auto pattern = [](double x, double y) {
    const bool stripe = static_cast<int>(std::floor(x)) % 2 == 0;
    const bool bar = static_cast<int>(std::floor(y)) % 2 == 0;
    return static_cast<std::uint8_t>(stripe != bar ? 220 : 30);
  };
  for (int v = 0; v < size; ++v)
    for (int u = 0; u < size; ++u) {
      const double x = (u + 0.5 - 100) / focal, y = (v + 0.5 - 100) / focal;
      const double theta = std::hypot(x, y);
      const double scale = theta < 1.5 ? std::tan(theta) / theta : 0;
      for (int c = 0; c < 3; ++c) seen.colour.rgb.push_back(pattern(x * scale, y * scale));
    }
  const Distortion lens = lens_of(LensModel::fisheye, {});
  const UndistortPlan plan =
      plan_undistortion(lens, {focal, focal, 100, 100}, size, size, false, "lens");
  const Image flat = undistort_picture(seen, lens, plan, false).colour;
  int wrong = 0, all = 0;
  for (int v = 0; v < size; ++v)
    for (int u = 0; u < size; ++u) {
      const double x = (u + 0.5 - plan.undistorted.cx) / plan.undistorted.fx;
      const double y = (v + 0.5 - plan.undistorted.cy) / plan.undistorted.fy;
      const auto edge = [](double at) { return std::abs(at - std::round(at)) < 0.15; };
      if (edge(x) || edge(y)) continue;
      ++all;
      wrong += std::abs(int{flat.row(v)[3 * u]} - int{pattern(x, y)}) > 20 ? 1 : 0;
    }
  EXPECT_GT(all, 1000);
  EXPECT_EQ(wrong, 0);
}

TEST(Undistortion, LensesThatFoldOrSeeTooMuchAreRefused) {
  for (const Distortion& lens : {lens_of(LensModel::polynomial, {50, -3000, 0, 0}),
                                 lens_of(LensModel::polynomial, {1e300, 0, 0, 0}),
                                 lens_of(LensModel::fisheye, {-5, 0, 0, 0})}) {
    try {
      plan_undistortion(lens, {20, 20, 24, 16}, 48, 32, false, "lens 7");
      ADD_FAILURE() << lens.k[0];
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_EQ(error.where(), "lens 7");
    }
  }
}

TEST(Planes, ByteValuesSurviveTheRoundTripAndOthersAreTruncated) {
  Image image{256, 1, {}};
  for (int i = 0; i < 256; ++i)
    for (int c = 0; c < 3; ++c) image.rgb.push_back(static_cast<std::uint8_t>(i));
  EXPECT_EQ(from_planes(to_planes(image), 256, 1).rgb, image.rgb);
  const std::vector<float> odd{-0.5F, 1.5F, 0.9999F, NAN, INFINITY, -INFINITY};
  EXPECT_EQ(from_planes(odd, 2, 1).rgb, (std::vector<std::uint8_t>{0, 254, 255, 255, 0, 0}));
}

TEST(Crop, RoundsAndCutsAsPythonDoes) {
  const CropPlan dl3dv = plan_crop(960, 540, 960, 536);
  EXPECT_EQ(dl3dv.height, 540);
  EXPECT_EQ(dl3dv.window.top, 2);
  const CropPlan square = plan_crop(960, 540, 256, 256);
  EXPECT_EQ(square.width, 455);
  EXPECT_EQ(square.window.left, 99);
  EXPECT_EQ(plan_crop(5, 4, 2, 2).width, 2);  // 2.5 rounds to the even side
  EXPECT_EQ(plan_crop(7, 4, 2, 2).width, 4);  // 3.5 too
}

std::vector<std::string> warnings_for(const std::function<void(int, Frame&)>& change) {
  Scene scene;
  for (int i = 0; i < 9; ++i) {
    Frame frame;
    frame.path = std::to_string(i);
    frame.width = 48;
    frame.height = 32;
    frame.intrinsics = {50, 50, 24, 16};
    frame.world_to_camera = inverse(test::ring_pose(i));
    change(i, frame);
    scene.frames.push_back(frame);
  }
  const RigSummary rig = summarize_rig(scene);
  EXPECT_FALSE(rig_text(rig).empty());
  EXPECT_EQ(draw_rig(scene, {}, {}).width, 1280);
  return rig.warnings;
}

TEST(Rig, PlausibleCamerasGiveNoWarnings) {
  EXPECT_TRUE(warnings_for([](int, Frame&) {}).empty());
}

TEST(Rig, ImplausibleCamerasAreTold) {
  const auto warned = [](const std::function<void(int, Frame&)>& change, std::string_view part) {
    for (const std::string& warning : warnings_for(change))
      if (warning.find(part) != std::string::npos) return true;
    return false;
  };
  EXPECT_TRUE(
      warned([](int, Frame& f) { f.intrinsics.fx = f.intrinsics.fy = 5000; }, "field of view"));
  EXPECT_TRUE(warned([](int, Frame& f) { f.intrinsics.cx = 45; }, "principal point"));
  EXPECT_TRUE(warned([](int, Frame& f) { f.intrinsics.fy = 90; }, "fx and fy"));
  EXPECT_TRUE(
      warned([](int, Frame& f) { f.world_to_camera.linear(0, 1) += 0.4; }, "not rotations"));
  EXPECT_TRUE(warned(
      [](int, Frame& f) {
        for (std::size_t c = 0; c < 3; ++c) f.world_to_camera.linear(0, c) *= -1;
      },
      "mirrored"));
  // OpenGL's axes taken for OpenCV's: y and z the other way round.
  EXPECT_TRUE(warned(
      [](int, Frame& f) {
        for (const std::size_t r : {1, 2}) {
          for (std::size_t c = 0; c < 3; ++c) f.world_to_camera.linear(r, c) *= -1;
        }
        f.world_to_camera.translation.y *= -1;
        f.world_to_camera.translation.z *= -1;
      },
      "OpenGL"));
  EXPECT_TRUE(
      warned([](int, Frame& f) { f.world_to_camera = inverse(test::ring_pose(0)); }, "same place"));
  EXPECT_TRUE(warned(
      [](int i, Frame& f) {
        Transform pose = test::ring_pose(i);
        pose.translation = pose.translation + Vector3{4e6, 5e6, 0};
        f.world_to_camera = inverse(pose);
      },
      "geographic"));
}

}  // namespace
}  // namespace ttt::nvs
