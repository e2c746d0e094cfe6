// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/cameras/geometry.h"
#include "tests/support/paths.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace ttt::test {

/// A PNG of one colour that depends on its name; made with its folder.
void write_picture(const std::filesystem::path& path, int width = 48, int height = 32);

/// A pose looking at the origin from azimuth `i` * 40 degrees, as c2w with OpenCV axes.
nvs::Transform ring_pose(int i);
/// A row-major 4x4 JSON matrix.
nlohmann::json matrix_json(const nvs::Transform& pose);

/// A LaCT camera with picture images/<i>.png (w 48, h 32).
nlohmann::json lact_camera(int i);
/// A frame of a transforms.json with the same pose and picture.
nlohmann::json transforms_frame(int i);
/// {"w", "h", "fl_x", "frames"} with `count` frames.
nlohmann::json transforms_file(int count);

/// Writes images/0.png … for `count` frames.
void write_ring_pictures(const std::filesystem::path& folder, int count);

/// The text form of a COLMAP model of `count` ring cameras: cameras.txt and images.txt in `folder`.
struct ColmapText {
  std::string cameras = "1 PINHOLE 48 32 50 50 24 16\n";
  std::string images;
};
ColmapText colmap_text(int count);
void write_colmap(const std::filesystem::path& folder, const ColmapText& text);

}  // namespace ttt::test
