// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.h"
#include "nvs/scene/scene.h"
#include "tests/nvs/golden.h"
#include "tests/nvs/scene_files.h"

#include <gtest/gtest.h>

/// Shared by the tests of scene files as people have them.
namespace ttt::nvs {

/// The error that reading gives.
inline Error failure(const std::string& path, const SceneOptions& options = {}) {
  try {
    read_scene(path, options);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::internal, "no error");
}

inline bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline bool warns(const Scene& scene, std::string_view part) {
  for (const std::string& warning : scene.warnings)
    if (mentions(warning, part)) return true;
  return false;
}

class SceneFiles : public testing::Test {
 protected:
  void SetUp() override { test::write_ring_pictures(folder_.path(), 4); }
  std::string path() const { return folder_.path().string(); }
  void write_transforms(const nlohmann::json& file) {
    test::write_text(folder_ / "transforms.json", file.dump());
  }
  /// One frame under that name.
  Frame read_name(const std::string& name) {
    nlohmann::json file = test::transforms_file(2);
    file["frames"][0]["file_path"] = name;
    write_transforms(file);
    return read_scene(path()).frames[0];
  }

  test::TempDir folder_;
};

}  // namespace ttt::nvs
