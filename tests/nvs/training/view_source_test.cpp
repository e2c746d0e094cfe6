// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/training/view_source.h"

#include "core/atomic_file.h"
#include "core/error.h"
#include "nvs/cameras/nearest_camera.h"
#include "nvs/procedural/export_scene.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace ttt::nvs {
namespace {

using test::TempDir;

constexpr int kViews = 20;

std::string write_scene(const TempDir& folder, const std::string& name, std::uint64_t seed) {
  export_procedural_scene(folder / name, seed, kViews, 16, 16);
  return (folder / name).string();
}

/// Which view of the made-up scene a picture is; -1 for none.
int index_of(const Image& image, const SceneViews& scene) {
  for (std::size_t i = 0; i < scene.images.size(); ++i)
    if (scene.images[i].rgb == image.rgb) return static_cast<int>(i);
  return -1;
}

SceneFileOptions options_of(int views, int held_out_every = 8) {
  return {.width = 16, .height = 16, .views = views, .held_out_every = held_out_every};
}

TEST(ViewSource, FilesGiveEachTrainingViewAndNoOther) {
  const TempDir folder;
  const std::string path = write_scene(folder, "scene", 3);
  const SceneViews truth = procedural_views(3, kViews, 16, 16);
  for (const int every : {8, 5, 0}) {
    const auto source = scene_file_source(path, options_of(6, every));
    std::set<int> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const SceneViews views = source->sample(seed, 6);
      ASSERT_EQ(views.images.size(), 6);
      std::set<int> own;
      for (std::size_t i = 0; i < 6; ++i) {
        const int index = index_of(views.images[i], truth);
        ASSERT_GE(index, 0);
        own.insert(index);
        EXPECT_LE(length(views.cameras[i].position() -
                         truth.cameras[static_cast<std::size_t>(index)].position()),
                  1e-9)
            << "the camera is the picture's";
      }
      EXPECT_EQ(own.size(), 6) << "no view twice";
      seen.insert(own.begin(), own.end());
    }
    std::set<int> expected;
    for (int i = 0; i < kViews; ++i)
      if (every == 0 || i % every != 0) expected.insert(i);
    EXPECT_EQ(seen, expected);
  }
}

TEST(ViewSource, SamplesFollowFromTheSeed) {
  const TempDir folder;
  const std::string path = write_scene(folder, "scene", 3);
  std::vector<WeightedSource> both;
  both.push_back({procedural_source(16, 16), 1});
  both.push_back({scene_file_source(path, options_of(4)), 1});
  const auto mixed = mixed_source(std::move(both));
  int different = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const SceneViews a = mixed->sample(seed, 4), b = mixed->sample(seed, 4);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(a.images[i].rgb, b.images[i].rgb);
    different += a.images[0].rgb != mixed->sample(seed + 1, 4).images[0].rgb ? 1 : 0;
  }
  EXPECT_GE(different, 18);
}

TEST(ViewSource, WeightsAreHowOftenASourceIsTaken) {
  const TempDir folder;
  const std::string path = write_scene(folder, "scene", 3);
  const SceneViews truth = procedural_views(3, kViews, 16, 16);
  for (const double weight : {0.0, 1.0, 3.0}) {
    std::vector<WeightedSource> both;
    both.push_back({procedural_source(16, 16), 1});
    both.push_back({scene_file_source(path, options_of(4)), weight});
    const auto mixed = mixed_source(std::move(both));
    int from_file = 0;
    constexpr int kSamples = 400;
    for (std::uint64_t seed = 0; seed < kSamples; ++seed)
      from_file += index_of(mixed->sample(seed, 1).images[0], truth) >= 0 ? 1 : 0;
    EXPECT_NEAR(from_file, kSamples * weight / (1 + weight), 40);
  }
}

TEST(ViewSource, SeveralScenesOfOneFolderAreAllUsed) {
  const TempDir folder;
  write_scene(folder, "all/one", 3);
  write_scene(folder, "all/two", 4);
  const auto source = scene_file_source((folder / "all").string(), options_of(4));
  const SceneViews one = procedural_views(3, kViews, 16, 16);
  int first = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    first += index_of(source->sample(seed, 4).images[0], one) >= 0 ? 1 : 0;
  EXPECT_GT(first, 20);
  EXPECT_LT(first, 80);
}

TEST(ViewSource, EvaluationTakesHeldOutTargets) {
  const TempDir folder;
  const std::string path = write_scene(folder, "scene", 3);
  const SceneViews truth = procedural_views(3, kViews, 16, 16);
  const SceneViews views = evaluation_views(path, 5, 2, options_of(6));
  ASSERT_EQ(views.images.size(), 7);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NE(index_of(views.images[i], truth) % 8, 0);
  EXPECT_EQ(index_of(views.images[5], truth), 0);
  EXPECT_EQ(index_of(views.images[6], truth), 8);
}

TEST(ViewSource, MistakesAreNamed) {
  const TempDir folder;
  const std::string path = write_scene(folder, "scene", 3);
  const auto kind_of = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::internal;
  };
  EXPECT_EQ(kind_of([&] { scene_file_source(path, options_of(18)); }), ErrorKind::input);
  EXPECT_EQ(kind_of([&] { scene_file_source((folder / "none").string(), options_of(4)); }),
            ErrorKind::input);
  EXPECT_EQ(kind_of([&] { evaluation_views(path, 18, 2, options_of(6)); }), ErrorKind::usage);
  EXPECT_EQ(kind_of([&] { evaluation_views(path, 4, 9, options_of(6)); }), ErrorKind::input);
  EXPECT_EQ(kind_of([&] { mixed_source({}); }), ErrorKind::usage);
  // A damaged picture is left out, as long as enough are left.
  write_file(folder / "scene/images/view_001.png", "no picture");
  const auto source = scene_file_source(path, options_of(16));
  EXPECT_EQ(source->description(), "1 scenes, 16 views");
  EXPECT_EQ(kind_of([&] { scene_file_source(path, options_of(17)); }), ErrorKind::input);
}

TEST(NearestCamera, IsTheOneThatSeesMostOfTheSame) {
  const SceneViews scene = procedural_views(3, 9, 16, 16);
  const std::span<const Camera> inputs(scene.cameras.data() + 1, 8);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(nearest_camera(inputs[i], inputs), i);
  // Two cameras at one place: the one that faces the same way.
  const Vector3 eye{0, 0, 0}, up{0, 0, 1};
  const auto facing = [&](const Vector3& target) {
    return Camera{look_at(eye, target, up), {10, 10, 8, 8}, 16, 16};
  };
  const std::vector<Camera> turned{facing({1, 0, 0}), facing({0, 1, 0})};
  EXPECT_EQ(nearest_camera(facing({0.2, 1, 0}), turned), 1);
  EXPECT_EQ(nearest_camera(facing({1, 0.2, 0}), turned), 0);
}

}  // namespace
}  // namespace ttt::nvs
