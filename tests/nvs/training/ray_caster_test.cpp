// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/procedural/ray_caster.h"

#include "nvs/procedural/export_scene.h"
#include "nvs/scene/views.h"
#include "nvs/training/view_source.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>

namespace ttt::nvs {
namespace {

constexpr Vector3 kRed{1, 0, 0};

Primitive primitive(ShapeKind kind, const Vector3& size, const Vector3& position = {}) {
  return {kind, size, {{}, position}, {.first = kRed}};
}

ProceduralScene scene_of(const Primitive& one) {
  ProceduralScene scene;
  scene.primitives = {one};
  return scene;
}

Ray ray(const Vector3& origin, const Vector3& to) {
  return {origin, normalize(to - origin)};
}

void expect_near(const Vector3& a, const Vector3& b, double tolerance) {
  EXPECT_LE(length(a - b), tolerance)
      << a.x << " " << a.y << " " << a.z << ", not " << b.x << " " << b.y << " " << b.z;
}

TEST(RayCaster, DistancesAndNormalsOfEveryShapeAreThoseOnPaper) {
  struct Case {
    Primitive solid;
    Ray ray;
    double distance;
    Vector3 normal;
  };
  const double half = std::sqrt(0.5);
  const Case cases[] = {
      // A sphere from outside, off its centre line, and from inside.
      {primitive(ShapeKind::ellipsoid, {2, 2, 2}), {{-5, 0, 0}, {1, 0, 0}}, 3, {-1, 0, 0}},
      {primitive(ShapeKind::ellipsoid, {1, 1, 1}),
       {{-5, half, 0}, {1, 0, 0}},
       5 - half,
       {-half, half, 0}},
      {primitive(ShapeKind::ellipsoid, {2, 2, 2}), {{0, 0, 0}, {0, 0, 1}}, 2, {0, 0, 1}},
      {primitive(ShapeKind::ellipsoid, {1, 2, 3}), {{0, 0, 9}, {0, 0, -1}}, 6, {0, 0, 1}},
      {primitive(ShapeKind::box, {1, 2, 3}, {1, 0, 0}), {{0, -7, 0}, {0, 1, 0}}, 5, {0, -1, 0}},
      {primitive(ShapeKind::box, {1, 2, 3}), {{0, 0, 0}, {1, 0, 0}}, 1, {1, 0, 0}},
      {primitive(ShapeKind::box, {1, 1, 1}), ray({3, 3, 0.5}, {1, 1, 0.5}), 2 * std::sqrt(2.0), {}},
      // The side and the end of a cylinder.
      {primitive(ShapeKind::cylinder, {1, 1, 2}), {{0, 6, 1}, {0, -1, 0}}, 5, {0, 1, 0}},
      {primitive(ShapeKind::cylinder, {1, 1, 2}), {{0.5, 0, 6}, {0, 0, -1}}, 4, {0, 0, 1}},
      {primitive(ShapeKind::cylinder, {1, 1, 2}), {{0.5, 0, -6}, {0, 0, 1}}, 4, {0, 0, -1}},
      // Half way up a cone the radius is half; its side leans by atan(radius / height).
      {primitive(ShapeKind::cone, {1, 1, 0.5}), {{4, 0, 0}, {-1, 0, 0}}, 3.5, {half, 0, half}},
      {primitive(ShapeKind::cone, {1, 1, 1}), {{0.2, 0, -5}, {0, 0, 1}}, 4, {0, 0, -1}},
  };
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    SCOPED_TRACE(i);
    const auto hit = RayCaster(scene_of(cases[i].solid)).first_hit(cases[i].ray);
    ASSERT_TRUE(hit);
    EXPECT_NEAR(hit->distance, cases[i].distance, 1e-12);
    expect_near(hit->point, cases[i].ray.origin + cases[i].distance * cases[i].ray.direction,
                1e-12);
    if (length(cases[i].normal) > 0) expect_near(hit->normal, cases[i].normal, 1e-12);
    expect_near(hit->colour, kRed, 0);
  }
}

TEST(RayCaster, RaysThatPassByHitNothing) {
  for (const ShapeKind kind :
       {ShapeKind::ellipsoid, ShapeKind::box, ShapeKind::cylinder, ShapeKind::cone}) {
    const RayCaster caster(scene_of(primitive(kind, {1, 1, 1})));
    EXPECT_FALSE(caster.first_hit({{-5, 1.1, 0}, {1, 0, 0}}));
    EXPECT_FALSE(caster.first_hit({{-5, 0, 1.1}, {1, 0, 0}}));
    EXPECT_FALSE(caster.first_hit({{-5, 0, 0}, {-1, 0, 0}})) << "behind the ray";
  }
  // The cone's other half, above the tip.
  EXPECT_FALSE(RayCaster(scene_of(primitive(ShapeKind::cone, {1, 1, 1})))
                   .first_hit({{-5, 0, 2}, {1, 0, 0}}));
}

TEST(RayCaster, TheNearestSurfaceIsSeen) {
  ProceduralScene scene = scene_of(primitive(ShapeKind::box, {1, 1, 1}, {0, 0, 1}));
  scene.floor_height = 0;
  scene.floor_radius = 3;
  scene.floor.first = {0, 1, 0};
  Primitive ball = primitive(ShapeKind::ellipsoid, {0.5, 0.5, 0.5}, {0, 0, 4});
  ball.texture.first = {0, 0, 1};
  scene.primitives.push_back(ball);
  const RayCaster caster(scene);
  expect_near(caster.first_hit({{0, 0, 9}, {0, 0, -1}})->colour, {0, 0, 1}, 0);
  expect_near(caster.first_hit({{0.8, 0, 9}, {0, 0, -1}})->colour, kRed, 0);
  expect_near(caster.first_hit({{2, 0, 9}, {0, 0, -1}})->colour, {0, 1, 0}, 0);
  EXPECT_FALSE(caster.first_hit({{3.1, 0, 9}, {0, 0, -1}}));
}

TEST(RayCaster, LightIsLamberts) {
  ProceduralScene scene = scene_of(primitive(ShapeKind::box, {1, 1, 1}));
  scene.ambient = 0.25;
  scene.to_light = normalize(Vector3{0, 1, 1});
  const RayCaster caster(scene);
  const double lit = 0.25 + 0.75 * std::sqrt(0.5);
  expect_near(caster.colour({{0, 0, 5}, {0, 0, -1}}), lit * kRed, 1e-12);
  expect_near(caster.colour({{5, 0, 0}, {-1, 0, 0}}), 0.25 * kRed, 1e-12);  // grazing
  expect_near(caster.colour({{0, -5, 0}, {0, 1, 0}}), 0.25 * kRed, 1e-12);  // turned away
}

TEST(RayCaster, ShadowsFallAwayFromTheLight) {
  ProceduralScene scene = scene_of(primitive(ShapeKind::ellipsoid, {0.5, 0.5, 0.5}, {0, 0, 2}));
  scene.floor_radius = 5;
  scene.to_light = normalize(Vector3{1, 0, 1});  // the shadow is around x = -2
  scene.ambient = 0.5;
  for (const bool shadows : {false, true}) {
    scene.shadows = shadows;
    const RayCaster caster(scene);
    const double bright = 0.5 + 0.5 * std::sqrt(0.5);
    EXPECT_NEAR(caster.colour(ray({-2, 4, 4}, {-2, 0, 0})).x, shadows ? 0.5 : bright, 1e-12);
    EXPECT_NEAR(caster.colour(ray({2, 4, 4}, {2, 0, 0})).x, bright, 1e-12);
  }
}

TEST(RayCaster, BackgroundGoesFromHorizonToZenith) {
  ProceduralScene scene;
  scene.zenith = {0, 0, 1};
  scene.horizon = {1, 0, 0};
  const RayCaster caster(scene);
  expect_near(caster.colour({{}, {0, 0, 1}}), {0, 0, 1}, 0);
  expect_near(caster.colour({{}, {1, 0, 0}}), {1, 0, 0}, 0);
  expect_near(caster.colour({{}, {0, 0, -1}}), {1, 0, 0}, 0);
  expect_near(caster.colour({{}, {0.6, 0, 0.8}}), {0.2, 0, 0.8}, 1e-12);
}

TEST(Texture, PatternsFollowTheirDefinition) {
  const Vector3 black, white{1, 1, 1};
  const auto red = [](const Texture& texture, const Vector3& p) { return colour_at(texture, p).x; };
  const Texture checker{Pattern::checker, white, black, 0.5};
  EXPECT_EQ(red(checker, {0, 0, 0}), 1);
  EXPECT_EQ(red(checker, {0.5, 0, 0}), 0);
  EXPECT_EQ(red(checker, {0.5, -0.5, 0}), 1);
  EXPECT_EQ(red(checker, {0, 0, -0.5}), 0);
  const Texture stripes{Pattern::stripes, white, black, 0.5, {1, 0, 0}};
  EXPECT_EQ(red(stripes, {0, 7, 7}), 1);
  EXPECT_EQ(red(stripes, {-0.5, 0, 0}), 0);
  const Texture gradient{Pattern::gradient, white, black, 2, {0, 0, 1}};
  EXPECT_EQ(red(gradient, {5, 5, -2}), 1);
  EXPECT_EQ(red(gradient, {0, 0, 0.5}), 0.25);
  EXPECT_EQ(red(gradient, {0, 0, 3}), 0);
  const Texture noise{Pattern::noise, white, black, 0.3, {0, 0, 1}, 7};
  Texture other = noise;
  other.seed = 8;
  double smallest = 1, largest = 0, step = 0;
  int different = 0;
  for (int i = 0; i < 2000; ++i) {
    const Vector3 p{0.01 * i, 0.3, -0.2};
    smallest = std::min(smallest, red(noise, p));
    largest = std::max(largest, red(noise, p));
    step = std::max(step, std::abs(red(noise, p) - red(noise, p + Vector3{0.001, 0, 0})));
    different += red(noise, p) != red(other, p) ? 1 : 0;
  }
  EXPECT_LT(smallest, 0.2);
  EXPECT_GT(largest, 0.8);
  EXPECT_LT(step, 0.03) << "noise is smooth";
  EXPECT_GT(different, 1500);
}

/// The convention of the readers and the model: x_cam = w2c x, pixel = K x_cam / z, centres at 0.5.
TEST(RayCaster, APointIsSeenInThePixelThatItProjectsTo) {
  for (int i = 0; i < 20; ++i) {
    const Camera camera = procedural_camera(3, i, 96, 64);
    // Large enough that rays half a pixel apart can't miss it.
    constexpr double kRadius = 0.03;
    const Vector3 point{0.1, -0.2, 0.15};
    const RayCaster caster(
        scene_of(primitive(ShapeKind::ellipsoid, {kRadius, kRadius, kRadius}, point)));
    const Vector3 own = inverse(camera.camera_to_world) * point;
    const double x = camera.intrinsics.fx * own.x / own.z + camera.intrinsics.cx;
    const double y = camera.intrinsics.fy * own.y / own.z + camera.intrinsics.cy;
    const auto hit = caster.first_hit(camera_ray(camera, x, y));
    ASSERT_TRUE(hit);
    EXPECT_NEAR(hit->distance, length(own) - kRadius, 1e-9);
    const Image image = caster.render(camera);
    // Everything but the dot is white: the redness is centred on the projection.
    double sum = 0, mean_x = 0, mean_y = 0;
    for (int v = 0; v < image.height; ++v)
      for (int u = 0; u < image.width; ++u) {
        const double red = 255 - image.row(v)[3 * u + 1];
        sum += red, mean_x += red * (u + 0.5), mean_y += red * (v + 0.5);
      }
    ASSERT_GT(sum, 0);
    EXPECT_NEAR(mean_x / sum, x, 0.5);
    EXPECT_NEAR(mean_y / sum, y, 0.5);
  }
}

TEST(RayCaster, EdgesAreTheMeanOfFourRays) {
  // A wall that covers everything with world x below 0; the camera looks at its edge.
  ProceduralScene scene = scene_of(primitive(ShapeKind::box, {10, 10, 1}, {-10, 0, 11}));
  scene.zenith = scene.horizon = {0, 0, 0};
  for (const auto& [cx, expected] : {std::pair{2.5, 128}, {2.9, 255}, {2.0, 0}}) {
    const Camera camera{{}, {40, 40, cx, 2}, 4, 4};
    const Image image = RayCaster(scene).render(camera);
    EXPECT_EQ(image.row(1)[3 * 2], expected);
  }
}

TEST(ProceduralScene, FollowsFromItsSeedAlone) {
  const SceneViews first = procedural_views(5, 3, 32, 32);
  std::vector<SceneViews> again(4);
  {
    std::vector<std::jthread> threads;
    for (SceneViews& views : again)
      threads.emplace_back([&views] { views = procedural_views(5, 3, 32, 32); });
  }
  for (const SceneViews& views : again)
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(views.images[i].rgb, first.images[i].rgb);
  EXPECT_NE(procedural_views(6, 1, 32, 32).images[0].rgb, first.images[0].rgb);
  // Fewer views of a scene are the same ones.
  EXPECT_EQ(procedural_views(5, 1, 32, 32).images[0].rgb, first.images[0].rgb);
}

TEST(ProceduralScene, KeepsToItsOptions) {
  std::set<std::size_t> counts;
  std::set<ShapeKind> kinds;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const ProceduralScene scene = procedural_scene(seed);
    counts.insert(scene.primitives.size());
    for (const Primitive& one : scene.primitives) {
      kinds.insert(one.kind);
      const Vector3& at = one.pose.translation;
      EXPECT_NEAR(at.z - one.size.z, scene.floor_height, 1e-12) << "stands on the floor";
      EXPECT_LT(std::hypot(at.x, at.y), scene.floor_radius);
    }
    const Camera camera = procedural_camera(seed, 0, 64, 64);
    const double radius = length(camera.position());
    EXPECT_TRUE(radius >= 2.2 && radius <= 3.2);
    const double elevation = std::asin(camera.position().z / radius) * 180 / 3.14159265358979;
    EXPECT_TRUE(elevation > 14.999 && elevation < 60.001);
    EXPECT_GT(dot(camera.forward(), normalize(-camera.position())), 0.98) << "looks at the scene";
    EXPECT_LT(camera.down().z, 0) << "upright";
  }
  EXPECT_EQ(counts, (std::set<std::size_t>{2, 3, 4, 5}));
  EXPECT_EQ(kinds.size(), 4);
}

TEST(ProceduralScene, ExportedScenesAreReadBackAsTheyWere) {
  const test::TempDir folder;
  export_procedural_scene(folder / "scene", 11, 4, 48, 32);
  const Scene scene = read_scene((folder / "scene").string());
  ASSERT_EQ(scene.frames.size(), 4);
  EXPECT_TRUE(scene.warnings.empty());
  const std::vector<int> all{0, 1, 2, 3};
  const std::vector<View> views = load_views(scene, all, {.width = 48, .height = 32});
  const SceneViews expected = procedural_views(11, 4, 48, 32);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_FALSE(views[i].error);
    EXPECT_EQ(views[i].image.rgb, expected.images[i].rgb);
    EXPECT_EQ(views[i].camera.intrinsics, expected.cameras[i].intrinsics);
    const auto a = matrix4(views[i].camera.camera_to_world);
    const auto b = matrix4(expected.cameras[i].camera_to_world);
    for (std::size_t k = 0; k < 16; ++k) EXPECT_NEAR(a[k], b[k], 1e-12);
  }
}

}  // namespace
}  // namespace ttt::nvs
