// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Damaged scene files end in an answer or an Error, never in anything else.
#include "core/error.h"
#include "nvs/scene/camera_path_file.h"
#include "nvs/scene/rig.h"
#include "tests/nvs/golden.h"
#include "tests/nvs/scene_files.h"

#include <gtest/gtest.h>

#include <random>

namespace ttt::nvs {
namespace {

/// One change of the kinds that disks, editors and converters make.
std::string mutate(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  if (text.empty()) return text;
  const std::size_t at = below(text.size());
  switch (below(6)) {
    case 0:
      text.resize(at);
      break;
    case 1:
      text[at] = static_cast<char>(random());
      break;
    case 2:
      text.erase(at, below(40));
      break;
    case 3:
      text.insert(at, text.substr(below(text.size()), below(60)));
      break;
    case 4: {
      static const char* kTokens[] = {"null", "NaN",  "-1",   "1e308", "[]",
                                      "{}",   "\"\"", "true", "0",     "99999999999999999999"};
      // In place of a number or word.
      const std::size_t begin = text.find_first_of("0123456789\"", at);
      if (begin == std::string::npos) break;
      const std::size_t end = std::min(text.find_first_of(",]} \n", begin), text.size());
      text.replace(begin, end - begin, kTokens[below(10)]);
      break;
    }
    default:
      for (std::size_t i = 0; i < 8 && at + i < text.size(); ++i) text[at + i] = '\xFF';
      break;
  }
  return text;
}

template <typename Read>
void expect_answer_or_error(const std::filesystem::path& file, const std::string& content,
                            const Read& read) {
  constexpr int kRounds = 400;
  std::mt19937 random(7);
  int errors = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string changed = mutate(content, random);
    if (round % 3 == 0) changed = mutate(changed, random);
    test::write_text(file, changed);
    try {
      read();
    } catch (const Error& error) {
      ++errors;
      EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
    }
  }
  EXPECT_GT(errors, 10);
  EXPECT_LT(errors, kRounds);
  test::write_text(file, content);
}

TEST(Mutation, ScenesGiveAnAnswerOrAnError) {
  const test::TempDir folder;
  test::write_ring_pictures(folder.path(), 3);
  const auto read = [&](const std::filesystem::path& path) {
    return [path] {
      const Scene scene = read_scene(path.string());
      EXPECT_FALSE(rig_text(summarize_rig(scene)).empty());
      EXPECT_GT(draw_rig(scene, {}, {}).width, 0);
    };
  };
  nlohmann::json cameras = nlohmann::json::array();
  for (int i = 0; i < 3; ++i) cameras.push_back(test::lact_camera(i));
  expect_answer_or_error(folder / "opencv_cameras.json", cameras.dump(1),
                         read(folder / "opencv_cameras.json"));
  nlohmann::json file = test::transforms_file(3);
  file.update({{"k1", 0.01}, {"cx", 24}, {"applied_scale", 2}, {"camera_model", "OPENCV"}});
  file["applied_transform"] = test::matrix_json(test::ring_pose(1));
  expect_answer_or_error(folder / "transforms.json", file.dump(1),
                         read(folder / "transforms.json"));
  const test::ColmapText text = test::colmap_text(3);
  test::write_colmap(folder / "sparse/0", text);
  expect_answer_or_error(folder / "sparse/0/cameras.txt", text.cameras, read(folder / "sparse/0"));
  expect_answer_or_error(folder / "sparse/0/images.txt", text.images, read(folder / "sparse/0"));
}

TEST(Mutation, BinaryModelsGiveAnAnswerOrAnError) {
  TTT_REQUIRE_SHARED("golden/nvs/formats/colmap_bin");
  const test::TempDir folder;
  std::filesystem::copy(test::shared("golden/nvs/formats/colmap_bin"), folder / "scene",
                        std::filesystem::copy_options::recursive);
  for (const char* name : {"cameras.bin", "images.bin"}) {
    const std::filesystem::path file = (folder / "scene/sparse/0") / name;
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    expect_answer_or_error(file, test::read_text(file),
                           [&] { summarize_rig(read_scene((folder / "scene").string())); });
  }
}

TEST(Mutation, CameraPathsGiveAnAnswerOrAnError) {
  const test::TempDir folder;
  std::vector<Camera> cameras;
  for (int i = 0; i < 3; ++i) cameras.push_back({test::ring_pose(i), {50, 50, 24, 16}, 48, 32});
  const std::string file = (folder / "path.json").string();
  expect_answer_or_error(file, camera_path_json(cameras), [&] { read_camera_path(file, 48, 32); });
}

}  // namespace
}  // namespace ttt::nvs
