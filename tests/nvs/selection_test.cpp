// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/scene/selection.h"

#include "core/error.h"
#include "tests/nvs/golden.h"
#include "tests/nvs/scene_files.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>

namespace ttt::nvs {
namespace {

Scene scene_of(int count) {
  Scene scene;
  scene.name = "ring";
  for (int i = 0; i < count; ++i) {
    Frame frame;
    frame.name = fmt::format("images/{}.png", i);
    frame.path = "/data/" + frame.name;
    frame.width = 48;
    frame.height = 32;
    frame.intrinsics = {50, 50, 24, 16};
    frame.world_to_camera = inverse(test::ring_pose(i));
    scene.frames.push_back(frame);
  }
  return scene;
}

SelectionOptions options_of(InputChoice choice, int count,
                            TargetChoice targets = TargetChoice::none) {
  SelectionOptions options;
  options.inputs = choice;
  options.input_count = count;
  options.targets = targets;
  return options;
}

TEST(Selection, SimpleChoices) {
  const Scene scene = scene_of(9);
  EXPECT_EQ(select_views(scene, options_of(InputChoice::first, 3)).inputs,
            (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(select_views(scene, options_of(InputChoice::uniform, 3)).inputs,
            (std::vector<int>{0, 4, 8}));
  EXPECT_EQ(select_views(scene, options_of(InputChoice::uniform, 1)).inputs, std::vector<int>{4});
  EXPECT_EQ(select_views(scene, options_of(InputChoice::uniform, 9)).inputs.size(), 9U);
  EXPECT_EQ(select_views(scene, options_of(InputChoice::kmeans, 0)).inputs.size(), 9U);
}

TEST(Selection, EveryChoiceIsValidAndRepeatable) {
  Scene scene = scene_of(40);
  scene.frames[7].problem = "lost";
  for (const std::string_view name : {"first", "uniform", "kmeans", "farthest", "random"}) {
    const InputChoice choice = parse_input_choice(name);
    EXPECT_EQ(to_string(choice), name);
    for (const int count : {1, 2, 7, 34}) {
      SelectionOptions options = options_of(choice, count, TargetChoice::every_nth);
      options.seed = 3;
      const ViewSelection selection = select_views(scene, options);
      EXPECT_EQ(selection.inputs, select_views(scene, options).inputs);
      EXPECT_EQ(std::set<int>(selection.inputs.begin(), selection.inputs.end()).size(),
                static_cast<std::size_t>(count))
          << name;
      EXPECT_EQ(std::count(selection.inputs.begin(), selection.inputs.end(), 7), 0);
      EXPECT_EQ(selection.targets, (std::vector<int>{0, 9, 17, 25, 33}));
      EXPECT_NO_THROW(check_selection(scene, selection));
      EXPECT_TRUE(leaked_targets(scene, selection).empty());
    }
  }
  EXPECT_THROW(parse_input_choice("k-means"), Error);
}

TEST(Selection, ChoicesBySpaceCoverTheRig) {
  // Three clusters of cameras: both choices take one of each, whatever the order.
  Scene scene = scene_of(30);
  for (int i = 0; i < 30; ++i) {
    Transform pose = test::ring_pose(3 * (i % 3));
    pose.translation += Vector3{0.01 * i, 0, 0};
    scene.frames[static_cast<std::size_t>(i)].world_to_camera = inverse(pose);
  }
  for (const InputChoice choice : {InputChoice::kmeans, InputChoice::farthest}) {
    std::set<int> clusters;
    for (const int i : select_views(scene, options_of(choice, 3)).inputs) clusters.insert(i % 3);
    EXPECT_EQ(clusters.size(), 3U);
  }
}

TEST(Selection, RandomIsPythonsSample) {
  SelectionOptions options = options_of(InputChoice::random, 5);
  options.seed = 42;
  // python3 -c "import random; print(sorted(random.Random(42).sample(range(100), 5)))"
  EXPECT_EQ(select_views(scene_of(100), options).inputs, (std::vector<int>{3, 14, 35, 81, 94}));
  EXPECT_NE(select_views(scene_of(100), options).method.find("42"), std::string::npos);
  // Seeds beyond 32 bits; print(sorted(random.Random(2**40 + 5).sample(range(1000), 7)))
  std::vector<int> large = PythonRandom((std::uint64_t{1} << 40) + 5).sample(1000, 7);
  std::sort(large.begin(), large.end());
  EXPECT_EQ(large, (std::vector<int>{28, 275, 516, 529, 543, 679, 948}));
}

TEST(Selection, TargetsFromTheScenesSplits) {
  Scene scene = scene_of(6);
  EXPECT_THROW(select_views(scene, options_of(InputChoice::first, 2, TargetChoice::split)), Error);
  scene.frames[1].split = scene.frames[4].split = Split::test;
  scene.frames[0].split = scene.frames[5].split = Split::train;
  scene.frames[2].split = Split::validation;
  const ViewSelection selection =
      select_views(scene, options_of(InputChoice::first, 0, TargetChoice::split));
  EXPECT_EQ(selection.targets, (std::vector<int>{1, 4}));
  EXPECT_EQ(selection.inputs, (std::vector<int>{0, 5}));
  const ViewSelection rest =
      select_views(scene, options_of(InputChoice::first, 2, TargetChoice::rest));
  EXPECT_EQ(rest.targets, (std::vector<int>{2, 3, 4, 5}));
}

TEST(Selection, TooFewViewsAreRefused) {
  EXPECT_THROW(select_views(scene_of(4), options_of(InputChoice::first, 5)), Error);
  EXPECT_THROW(
      select_views(scene_of(4), options_of(InputChoice::first, 4, TargetChoice::every_nth)), Error);
  SelectionOptions options = options_of(InputChoice::first, 1, TargetChoice::every_nth);
  options.every_nth = 1;
  EXPECT_THROW(select_views(scene_of(4), options), Error);
  options.every_nth = 8;
  try {
    select_views(scene_of(1), options);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("no input is left"), std::string::npos) << error.what();
  }
}

TEST(Selection, OfficialSplitsRefuseTheLeak) {
  const Scene scene = scene_of(64);
  PythonRandom random(95);
  const ViewSelection first = official_selection(scene, random, 6, 4, 2, false);
  EXPECT_EQ(first.inputs, (std::vector<int>{16, 60, 31, 1}));
  EXPECT_EQ(first.targets, (std::vector<int>{8, 51}));
  const ViewSelection second = official_selection(scene, random, 6, 4, 2, false);
  EXPECT_EQ(second.targets, (std::vector<int>{17, 51}));
  PythonRandom again(95);
  EXPECT_THROW(official_selection(scene_of(5), again, 6, 4, 2, false), Error);
  EXPECT_THROW(official_selection(scene, again, 6, 4, 3, false), Error);
}

TEST(Selection, LeaksAreFoundByPicture) {
  Scene scene = scene_of(5);
  scene.frames[4].path = scene.frames[0].path;
  ViewSelection selection;
  selection.inputs = {0, 1};
  selection.targets = {1, 2, 4};
  EXPECT_EQ(leaked_targets(scene, selection), (std::vector<int>{1, 4}));
}

TEST(Selection, ListsAreParsedWhole) {
  EXPECT_EQ(parse_index_list("0,3,8-10", "--input-views"), (std::vector<int>{0, 3, 8, 9, 10}));
  for (const char* bad :
       {"", ",", "1,", "a", "1;2", "3-1", "-1", "1-", "1.5", " 1", "99999999999", "0-99999999"})
    EXPECT_THROW(parse_index_list(bad, "--input-views"), Error) << bad;
}

TEST(Selection, ListsAreChecked) {
  Scene scene = scene_of(4);
  scene.frames[2].problem = "lost";
  const auto kind = [&](std::vector<int> inputs, std::vector<int> targets) {
    try {
      check_selection(scene, {std::move(inputs), std::move(targets), {}, {}});
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::check;
  };
  EXPECT_EQ(kind({0, 1}, {3}), ErrorKind::check);
  EXPECT_EQ(kind({0, 4}, {}), ErrorKind::usage);
  EXPECT_EQ(kind({0}, {-1}), ErrorKind::usage);
  EXPECT_EQ(kind({0, 0}, {}), ErrorKind::usage);
  EXPECT_EQ(kind({}, {1}), ErrorKind::usage);
  EXPECT_EQ(kind({2}, {}), ErrorKind::input);
}

TEST(Selection, FilesComeBackAndFollowNames) {
  const test::TempDir folder;
  const std::string file = (folder / "views.json").string();
  Scene scene = scene_of(12);
  const ViewSelection selection =
      select_views(scene, options_of(InputChoice::kmeans, 4, TargetChoice::every_nth));
  test::write_text(file, selection_to_json(scene, selection));
  const ViewSelection back = read_selection(scene, file);
  EXPECT_EQ(back.inputs, selection.inputs);
  EXPECT_EQ(back.targets, selection.targets);
  EXPECT_EQ(back.method, "kmeans");
  // Frames in another order: the names are found again.
  std::reverse(scene.frames.begin(), scene.frames.end());
  std::vector<int> mirrored;
  for (const int i : selection.inputs) mirrored.push_back(11 - i);
  EXPECT_EQ(read_selection(scene, file).inputs, mirrored);
  scene.frames.resize(2);
  EXPECT_THROW(read_selection(scene, file), Error);
  for (const char* bad :
       {"[]", "{}", R"({"inputs": 3})", R"({"inputs": [1.5]})", R"({"inputs": [-1]})",
        R"({"inputs": [{"index": 77}]})", R"({"inputs": [[]]})"}) {
    test::write_text(file, bad);
    EXPECT_THROW(read_selection(scene, file), Error) << bad;
  }
  test::write_text(file, R"({"inputs": [0, "images/11.png"]})");
  EXPECT_THROW(read_selection(scene, file), Error);  // one view twice
  test::write_text(file, R"({"inputs": [1, "images/11.png"]})");
  EXPECT_EQ(read_selection(scene, file).inputs, (std::vector<int>{1, 0}));
}

}  // namespace
}  // namespace ttt::nvs
