// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/nvs/scene_files.h"

#include "nvs/cameras/camera.h"
#include "tests/nvs/golden.h"
#include "tests/nvs/png_files.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <functional>

namespace ttt::test {

void write_picture(const std::filesystem::path& path, int width, int height) {
  const std::size_t hash = std::hash<std::string>{}(path.filename().string());
  std::vector<std::uint8_t> samples;
  for (int i = 0; i < width * height; ++i)
    for (int c = 0; c < 3; ++c)
      samples.push_back(static_cast<std::uint8_t>((hash >> (8 * c)) + static_cast<std::size_t>(i)));
  write_png(path, {"RGB", width, height, samples, {}});
}

nvs::Transform ring_pose(int i) {
  const double azimuth = i * 40 * 3.14159265358979 / 180;
  return nvs::look_at({3 * std::cos(azimuth), 3 * std::sin(azimuth), 1 + 0.1 * i}, {}, {0, 0, 1});
}

nlohmann::json matrix_json(const nvs::Transform& pose) {
  const auto m = matrix4(pose);
  nlohmann::json rows;
  for (std::size_t r = 0; r < 4; ++r)
    rows.push_back({m[4 * r], m[4 * r + 1], m[4 * r + 2], m[4 * r + 3]});
  return rows;
}

nlohmann::json lact_camera(int i) {
  return {{"w", 48},
          {"h", 32},
          {"fx", 50},
          {"fy", 50},
          {"cx", 24},
          {"cy", 16},
          {"w2c", matrix_json(inverse(ring_pose(i)))},
          {"file_path", fmt::format("images/{}.png", i)}};
}

nlohmann::json transforms_frame(int i) {
  nvs::Transform pose = ring_pose(i);
  for (std::size_t row = 0; row < 3; ++row)
    for (const std::size_t column : {1, 2}) pose.linear(row, column) *= -1;
  return {{"file_path", fmt::format("images/{}.png", i)}, {"transform_matrix", matrix_json(pose)}};
}

nlohmann::json transforms_file(int count) {
  nlohmann::json file{{"w", 48}, {"h", 32}, {"fl_x", 50}, {"frames", nlohmann::json::array()}};
  for (int i = 0; i < count; ++i) file["frames"].push_back(transforms_frame(i));
  return file;
}

void write_ring_pictures(const std::filesystem::path& folder, int count) {
  for (int i = 0; i < count; ++i) write_picture(folder / fmt::format("images/{}.png", i));
}

ColmapText colmap_text(int count) {
  ColmapText text;
  for (int i = 0; i < count; ++i) {
    const nvs::Transform pose = inverse(ring_pose(i));
    const nvs::Quaternion q = nvs::quaternion(pose.linear);
    text.images += fmt::format("{} {} {} {} {} {} {} {} 1 {}.png\n\n", i + 1, q.w, q.x, q.y, q.z,
                               pose.translation.x, pose.translation.y, pose.translation.z, i);
  }
  return text;
}

void write_colmap(const std::filesystem::path& folder, const ColmapText& text) {
  write_text(folder / "cameras.txt", text.cameras);
  write_text(folder / "images.txt", text.images);
}

}  // namespace ttt::test
