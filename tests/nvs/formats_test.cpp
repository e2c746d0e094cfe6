// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// One scene in five formats, the DL3DV conversion, and real captures.
#include "nvs/cameras/normalization.h"
#include "nvs/scene/rig.h"
#include "nvs/scene/views.h"
#include "tests/nvs/golden.h"

#include <gtest/gtest.h>

namespace ttt::nvs {
namespace {

using test::GoldenFile;
using test::largest_difference;
using test::shared;

std::string golden_scene(std::string_view format) {
  return shared("golden/nvs/formats/" + std::string(format)).string();
}

struct Given {
  std::string path;  ///< below formats/
  SceneFormat format;
};

class FormatsTest : public testing::TestWithParam<Given> {};

TEST_P(FormatsTest, GiveTheSameCamerasAndPictures) {
  TTT_REQUIRE_SHARED("golden/nvs/formats/expected.safetensors");
  const GoldenFile golden("formats/expected.safetensors");
  const Scene scene = read_scene(golden_scene(GetParam().path));
  EXPECT_EQ(scene.format, GetParam().format);
  EXPECT_TRUE(scene.warnings.empty()) << scene.warnings.front();
  const std::vector<Camera> cameras = rig_cameras(scene);
  ASSERT_EQ(cameras.size(), 4U);
  EXPECT_LE(largest_difference(test::poses_of(cameras), golden.numbers("c2w")), 1e-9);
  EXPECT_LE(largest_difference(test::intrinsics_of(cameras), golden.numbers("fxfycxcy")), 1e-9);
  const std::vector<int> all{0, 1, 2, 3};
  for (const std::string size : {"32x48", "24x24"}) {
    ViewOptions options;
    options.height = size == "32x48" ? 32 : 24;
    options.width = size == "32x48" ? 48 : 24;
    std::vector<std::uint8_t> pictures;
    std::vector<Camera> loaded;
    for (const View& view : load_views(scene, all, options)) {
      ASSERT_FALSE(view.error.has_value()) << view.error->what();
      for (const std::uint8_t value : test::planes_of(view.image)) pictures.push_back(value);
      loaded.push_back(view.camera);
    }
    const std::string prefix = "official." + size + ".";
    EXPECT_EQ(pictures, golden.bytes(prefix + "image")) << size;
    EXPECT_LE(largest_difference(test::poses_of(loaded), golden.numbers(prefix + "c2w")), 1e-6);
    EXPECT_LE(largest_difference(test::intrinsics_of(loaded), golden.numbers(prefix + "fxfycxcy")),
              1e-5);
    const PoseNormalization normalization = normalize_poses(loaded);
    for (Camera& camera : loaded) camera = normalization.apply(camera);
    EXPECT_LE(largest_difference(test::poses_of(loaded), golden.numbers(prefix + "c2w_normalised")),
              1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(
    NvsGolden, FormatsTest,
    testing::Values(Given{"lact", SceneFormat::lact}, Given{"lact/index.json", SceneFormat::lact},
                    Given{"lact/scene/opencv_cameras.json", SceneFormat::lact},
                    Given{"blender", SceneFormat::transforms},
                    Given{"blender/transforms.json", SceneFormat::transforms},
                    Given{"nerfstudio", SceneFormat::transforms},
                    Given{"colmap_text", SceneFormat::colmap},
                    Given{"colmap_text/sparse", SceneFormat::colmap},
                    Given{"colmap_bin", SceneFormat::colmap},
                    Given{"colmap_bin/sparse/0/", SceneFormat::colmap},
                    Given{"colmap_bin/sparse/0/images.bin", SceneFormat::colmap}));

TEST(NvsGolden, Dl3dvIsConvertedAsOfficially) {
  TTT_REQUIRE_SHARED("golden/nvs/formats/dl3dv");
  const Scene scene = read_scene(golden_scene("dl3dv/input/scene0"));
  EXPECT_EQ(scene.format, SceneFormat::dl3dv);
  EXPECT_EQ(scene.name, "scene0");
  const Scene expected = read_scene(golden_scene("dl3dv/expected/scene0"));
  ASSERT_EQ(scene.frames.size(), expected.frames.size());
  ViewOptions options;
  options.width = 48;
  options.height = 32;
  options.reference_compat = true;
  for (std::size_t i = 0; i < scene.frames.size(); ++i) {
    const Frame& frame = scene.frames[i];
    EXPECT_NE(frame.path.find("/images_4/"), std::string::npos) << frame.path;
    const View view = load_view(frame, 0, options);
    const View official = load_view(expected.frames[i], 0, options);
    EXPECT_LE(largest_difference(test::poses_of({view.camera}), test::poses_of({official.camera})),
              1e-9);
    EXPECT_LE(largest_difference(test::intrinsics_of({view.camera}),
                                 test::intrinsics_of({official.camera})),
              1e-9);
    int worst = 0;
    for (std::size_t k = 0; k < view.image.rgb.size(); ++k)
      worst = std::max(worst, std::abs(int{view.image.rgb[k]} - int{official.image.rgb[k]}));
    EXPECT_LE(worst, 1) << frame.name;
  }
}

double psnr_between(const Image& image, const std::vector<std::uint8_t>& truth) {
  double sum = 0;
  for (std::size_t i = 0; i < truth.size(); ++i)
    sum += std::pow(int{image.rgb[i]} - int{truth[i]}, 2);
  return -10 * std::log10(sum / static_cast<double>(truth.size()) / (255.0 * 255.0));
}

TEST(NvsGolden, UndistortedPicturesShowWhatAPinholeCameraSees) {
  TTT_REQUIRE_SHARED("golden/nvs/formats/dl3dv");
  const GoldenFile truth("formats/dl3dv/expected/truth.safetensors");
  const Scene scene = read_scene(golden_scene("dl3dv/input/scene0"));
  ViewOptions options;
  options.width = 48;
  options.height = 32;
  for (std::size_t i = 0; i < 4; ++i) {
    // The truth was traced at the compatible matrix; the exact one differs by hundredths of a
    // pixel.
    options.reference_compat = false;
    const View exact = load_view(scene.frames[i], 0, options);
    options.reference_compat = true;
    const View compat = load_view(scene.frames[i], 0, options);
    EXPECT_NEAR(exact.camera.intrinsics.cx, compat.camera.intrinsics.cx, 0.1);
    EXPECT_NE(exact.camera.intrinsics.cx, compat.camera.intrinsics.cx);
    EXPECT_GT(psnr_between(compat.image, truth.bytes("true_undistorted." + std::to_string(i))), 25);
    EXPECT_GT(psnr_between(exact.image, truth.bytes("true_undistorted." + std::to_string(i))), 25);
  }
}

TEST(RealCaptures, ObjectsLookLikeTheOfficialRig) {
  TTT_REQUIRE_SHARED("data/gso_sample_data_path.json");
  const auto scenes = find_scenes(shared("data/gso_sample_data_path.json").string());
  ASSERT_EQ(scenes.size(), 2U);
  EXPECT_EQ(scenes[1].name, "gso_toy");
  const RigSummary rig = summarize_rig(read_scene(scenes[0]));
  EXPECT_EQ(rig.usable, 64);
  EXPECT_TRUE(rig.warnings.empty()) << rig.warnings.front();
  EXPECT_TRUE(object_mode_warnings(rig).empty()) << object_mode_warnings(rig).front();
  ASSERT_TRUE(rig.center.has_value());
  EXPECT_LE(length(*rig.center), 1e-6);
  EXPECT_NEAR(rig.radius.min, 2.7, 1e-6);
  EXPECT_NEAR(rig.radius.max, 2.7, 1e-6);
  EXPECT_NEAR(rig.horizontal_fov.mean, 50, 1e-3);
  EXPECT_NEAR(rig.elevation.max, 60, 1e-3);
  EXPECT_EQ(rig.azimuth_coverage, 360);
  EXPECT_EQ(rig.facing, 1);
}

TEST(RealCaptures, PhonePhotosAreUndistorted) {
  TTT_REQUIRE_SHARED("data/fox");
  const Scene scene = read_scene(shared("data/fox").string());
  // The file lists 67 frames, 17 of them without a picture.
  EXPECT_EQ(scene.unusable_count(), 17);
  ASSERT_EQ(scene.warnings.size(), 1U);
  EXPECT_NE(scene.warnings[0].find("images/0005.jpg"), std::string::npos) << scene.warnings[0];
  const RigSummary rig = summarize_rig(scene);
  EXPECT_EQ(rig.usable, 50);
  EXPECT_EQ(rig.distorted, 50);
  EXPECT_EQ(rig.width, 1080);
  EXPECT_TRUE(rig.warnings.empty()) << rig.warnings.front();
  ViewOptions options;
  options.width = 144;
  options.height = 256;
  const std::vector<int> usable = scene.usable();
  const std::vector<int> indices{usable[0], usable[25], usable[49]};
  for (const View& view : load_views(scene, indices, options)) {
    ASSERT_FALSE(view.error.has_value()) << view.error->what();
    EXPECT_EQ(view.image.height, 256);
    EXPECT_NEAR(view.camera.intrinsics.fx, 1375.52 * 144 / 1080, 5);
    EXPECT_NEAR(vertical_field_of_view(view.camera), 69.9, 2);
  }
}

}  // namespace
}  // namespace ttt::nvs
