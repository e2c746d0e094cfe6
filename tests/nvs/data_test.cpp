// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The official data pipeline: pictures, intrinsics and poses of golden/nvs/data.
#include "core/media/alpha.h"
#include "nvs/cameras/crop.h"
#include "nvs/cameras/normalization.h"
#include "nvs/cameras/paths.h"
#include "nvs/scene/selection.h"
#include "nvs/scene/views.h"
#include "tests/nvs/golden.h"
#include "tests/nvs/png_files.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ttt::nvs {
namespace {

using test::GoldenFile;
using test::largest_difference;
using test::shared;
using test::TempDir;

std::vector<std::uint8_t> slice(const std::vector<std::uint8_t>& all, std::size_t i,
                                std::size_t count) {
  return {all.begin() + static_cast<std::ptrdiff_t>(i * count),
          all.begin() + static_cast<std::ptrdiff_t>((i + 1) * count)};
}

std::vector<double> rounded_to_float(std::vector<double> values) {
  for (double& value : values) value = static_cast<float>(value);
  return values;
}

TEST(NvsGolden, ObjectsAreLoadedBitExactly) {
  TTT_REQUIRE_SHARED("golden/nvs/data/gso.safetensors");
  TTT_REQUIRE_SHARED("data/gso_character");
  const GoldenFile golden("data/gso.safetensors");
  const auto json = nlohmann::json::parse(test::read_text(shared("golden/nvs/data/gso.json")));
  for (const std::string name : {"gso_character", "gso_toy"}) {
    const Scene scene = read_scene(shared("data/" + name).string());
    const auto all = json[name]["indices"].get<std::vector<int>>();
    for (const auto& size : json[name]["sizes_hw"]) {
      ViewOptions options;
      options.height = size[0];
      options.width = size[1];
      const std::string prefix =
          name + "." + std::to_string(options.height) + "x" + std::to_string(options.width) + ".";
      const auto count = static_cast<std::size_t>(golden.shape(prefix + "c2w")[0]);
      const std::vector<View> views = load_views(scene, std::span(all).first(count), options);
      const std::vector<std::uint8_t> pictures = golden.bytes(prefix + "image");
      std::vector<Camera> cameras;
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_FALSE(views[i].error.has_value()) << views[i].error->what();
        const std::size_t pixels =
            3 * static_cast<std::size_t>(options.width) * static_cast<std::size_t>(options.height);
        EXPECT_EQ(test::planes_of(views[i].image), slice(pictures, i, pixels)) << prefix << i;
        cameras.push_back(views[i].camera);
      }
      EXPECT_LE(largest_difference(test::poses_of(cameras), golden.numbers(prefix + "c2w")), 1e-6);
      EXPECT_EQ(rounded_to_float(test::intrinsics_of(cameras)),
                golden.numbers(prefix + "fxfycxcy"));
      if (count < all.size()) continue;
      const PoseNormalization normalization = normalize_poses(cameras);
      EXPECT_EQ(normalization.remark, "");
      for (Camera& camera : cameras) camera = normalization.apply(camera);
      EXPECT_LE(
          largest_difference(test::poses_of(cameras), golden.numbers(name + ".c2w_normalised")),
          1e-5);
    }
  }
}

TEST(NvsGolden, PicturesOfEveryModeAreResizedBitExactly) {
  TTT_REQUIRE_SHARED("golden/nvs/data/resize.safetensors");
  const GoldenFile golden("data/resize.safetensors");
  const auto json = nlohmann::json::parse(test::read_text(shared("golden/nvs/data/resize.json")));
  const TempDir folder;
  for (const auto& [name, what] : json.items()) {
    const int width = what["width"], height = what["height"];
    const std::string mode = what["mode"];
    const std::vector<std::uint8_t> palette =
        mode == "P" ? golden.bytes("palette.palette") : std::vector<std::uint8_t>{};
    const auto path = folder / (name + ".png");
    test::write_png(path, {mode, width, height, golden.bytes(name + ".input"), palette});
    const std::vector<double> k = golden.numbers(name + ".K_in");
    Frame frame;
    frame.name = name;
    frame.path = path.string();
    frame.width = width;
    frame.height = height;
    frame.intrinsics = {k[0], k[1], k[2], k[3]};
    ViewOptions options;
    options.width = what["target_width"];
    options.height = what["target_height"];
    options.reference_compat = true;
    const View view = load_view(frame, 0, options);
    EXPECT_EQ(test::planes_of(view.image), golden.bytes(name + ".output")) << name;
    EXPECT_EQ(rounded_to_float(test::intrinsics_of({view.camera})), golden.numbers(name + ".K_out"))
        << name;
    EXPECT_EQ(view_camera(frame, options).intrinsics, view.camera.intrinsics) << name;
    // Without the switch, only what loses its alpha or is left unfiltered there differs.
    options.reference_compat = false;
    const bool same = load_view(frame, 0, options).image.rgb == view.image.rgb;
    EXPECT_EQ(same, mode != "LA" && mode != "P") << name;
  }
}

TEST(NvsGolden, TurntablesAreTheOfficialOnes) {
  TTT_REQUIRE_SHARED("golden/nvs/data/cameras.safetensors");
  const GoldenFile golden("data/cameras.safetensors");
  const auto json = nlohmann::json::parse(test::read_text(shared("golden/nvs/data/cameras.json")));
  for (const std::string name :
       {"turntable.n8_256", "turntable.n120_256", "turntable.n5_w96_h64"}) {
    TurntableOptions options;
    options.frames = json[name]["num_views"];
    options.width = json[name]["w"];
    options.height = json[name]["h"];
    const std::vector<Camera> path = turntable_path(options);
    EXPECT_LE(largest_difference(test::poses_of(path), golden.numbers(name + ".c2w")), 1e-6)
        << name;
    EXPECT_EQ(rounded_to_float(test::intrinsics_of(path)), golden.numbers(name + ".fxfycxcy"));
  }
}

TEST(NvsGolden, LinearInterpolationIsTheOfficialOne) {
  TTT_REQUIRE_SHARED("golden/nvs/data/cameras.safetensors");
  const GoldenFile golden("data/cameras.safetensors");
  for (const auto& [name, between] :
       {std::pair{"interp.v3_m2", 2}, {"interp.v4_m1", 1}, {"interp.v2_m5", 5}}) {
    const std::string prefix = name;
    const std::vector<double> poses = golden.numbers(prefix + ".in.c2w");
    const std::vector<double> k = golden.numbers(prefix + ".in.fxfycxcy");
    std::vector<Camera> cameras;
    for (std::size_t i = 0; i < poses.size() / 16; ++i)
      cameras.push_back(
          {test::pose_at(poses, i), {k[4 * i], k[4 * i + 1], k[4 * i + 2], k[4 * i + 3]}, 8, 8});
    const std::vector<Camera> path = interpolated_path(cameras, between, Interpolation::linear);
    EXPECT_LE(largest_difference(test::poses_of(path), golden.numbers(prefix + ".c2w")), 1e-6);
    EXPECT_LE(largest_difference(test::intrinsics_of(path), golden.numbers(prefix + ".fxfycxcy")),
              1e-4);
    // All three modes pass through the given cameras and have as many frames.
    for (const Interpolation mode : {Interpolation::sphere, Interpolation::spline}) {
      const std::vector<Camera> smooth = interpolated_path(cameras, between, mode);
      ASSERT_EQ(smooth.size(), path.size());
      for (const Camera& camera : smooth) EXPECT_EQ(smooth.front().width, camera.width);
    }
  }
}

TEST(NvsGolden, ScenesAreNormalizedAsInTheOfficialCode) {
  TTT_REQUIRE_SHARED("golden/nvs/data/cameras.safetensors");
  const GoldenFile golden("data/cameras.safetensors");
  for (const std::string name : {"norm_v4", "norm_v9"}) {
    const std::vector<double> poses = golden.numbers(name + ".in.c2w");
    std::vector<Camera> cameras;
    for (std::size_t i = 0; i < poses.size() / 16; ++i)
      cameras.push_back({test::pose_at(poses, i), {1, 1, 0, 0}, 2, 2});
    const PoseNormalization normalization = normalize_poses(cameras);
    EXPECT_EQ(normalization.remark, "");
    for (Camera& camera : cameras) camera = normalization.apply(camera);
    EXPECT_LE(largest_difference(test::poses_of(cameras), golden.numbers(name + ".f64.c2w")),
              1e-12);
    EXPECT_LE(largest_difference(test::poses_of(cameras), golden.numbers(name + ".c2w")), 1e-5);
  }
}

TEST(NvsGolden, Seed95DrawsTheOfficialSelections) {
  TTT_REQUIRE_SHARED("golden/nvs/data/gso.json");
  const auto json = nlohmann::json::parse(test::read_text(shared("golden/nvs/data/gso.json")));
  for (const int views : {32, 6}) {
    PythonRandom random(95);
    for (const auto& expected : json["seed95_num_all_views_" + std::to_string(views)])
      EXPECT_EQ(random.sample(64, views), expected.get<std::vector<int>>());
  }
}

}  // namespace
}  // namespace ttt::nvs
