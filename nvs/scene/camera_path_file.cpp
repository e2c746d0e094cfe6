// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/scene/camera_path_file.h"

#include "core/error.h"
#include "nvs/cameras/crop.h"
#include "nvs/scene/json_fields.h"
#include "nvs/scene/readers.h"
#include "nvs/scene/scene.h"

#include <spdlog/fmt/fmt.h>

#include <numbers>

namespace ttt::nvs {
namespace {

constexpr double kMaxSide = 1'000'000;
constexpr const char* kHint =
    "each camera needs w, h, fx, fy, cx, cy and w2c (or as nerfstudio writes it: camera_to_world "
    "and fov)";

double positive(const Json& object, std::string_view key, const std::string& where) {
  const std::optional<double> value = number_field(object, key, where);
  TTT_CHECK(value.has_value(), input, fmt::format("{} is missing", key), where, kHint);
  TTT_CHECK(*value > 0 && *value < 1e12, input, fmt::format("{} is out of range", key), where,
            "give a positive number");
  return *value;
}

int side(const Json& object, std::string_view key, const std::string& where) {
  const double value = positive(object, key, where);
  TTT_CHECK(value >= 1 && value <= kMaxSide, input, fmt::format("{} is out of range", key), where,
            "give a side in pixels");
  return static_cast<int>(value);
}

/// Throws Error(input) for cameras that nothing can be rendered from.
Camera checked(const Transform& world_to_camera, const Intrinsics& k, int width, int height,
               const std::string& where) {
  const std::string problem = camera_problem(world_to_camera, k, width, height);
  TTT_CHECK(problem.empty(), input, "a camera can't be used: " + problem, where,
            "write the path again");
  return {inverse(world_to_camera), k, width, height};
}

Camera lact_camera(const Json& object, const std::string& where) {
  TTT_CHECK(object.is_object() && object.contains("w2c"), input, "a camera has no w2c", where,
            kHint);
  const Intrinsics k{positive(object, "fx", where), positive(object, "fy", where),
                     number_field(object, "cx", where).value_or(NAN),
                     number_field(object, "cy", where).value_or(NAN)};
  TTT_CHECK(std::isfinite(k.cx) && std::isfinite(k.cy), input, "cx or cy is missing", where, kHint);
  return checked(matrix_field(object["w2c"], where), k, side(object, "w", where),
                 side(object, "h", where), where);
}

/// OpenGL axes; the field of view is the vertical one.
Camera nerfstudio_camera(const Json& object, int width, int height, const std::string& where) {
  TTT_CHECK(object.is_object() && object.contains("camera_to_world"), input,
            "a camera has no camera_to_world", where, kHint);
  Transform pose = matrix_field(object["camera_to_world"], where);
  for (std::size_t row = 0; row < 3; ++row)
    for (const std::size_t column : {1, 2}) pose.linear(row, column) *= -1;
  const double degrees = positive(object, "fov", where);
  TTT_CHECK(degrees < 180, input, "fov is out of range", where, "give degrees below 180");
  const double focal = 0.5 * height / std::tan(degrees * std::numbers::pi / 360);
  return checked(inverse(pose), {focal, focal, width / 2.0, height / 2.0}, width, height, where);
}

std::vector<Camera> scene_cameras(const std::string& file) {
  std::vector<Camera> cameras;
  const Scene scene = read_scene(file, {}, 0);
  for (const Frame& frame : scene.frames) {
    TTT_CHECK(frame.usable(), input, fmt::format("{}: {}", printable(frame.name), frame.problem),
              printable(file), "give a path whose frames are all right");
    cameras.push_back(
        {inverse(frame.world_to_camera), frame.intrinsics, frame.width, frame.height});
  }
  return cameras;
}

}  // namespace

std::vector<Camera> read_camera_path(const std::string& file, int width, int height) {
  const Json json = read_json(file);
  std::vector<Camera> cameras;
  const auto where = [&](std::size_t i) {
    return fmt::format("{}, camera {}", printable(file), i);
  };
  if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) cameras.push_back(lact_camera(json[i], where(i)));
  } else if (json.is_object() && json.contains("camera_path") && json["camera_path"].is_array()) {
    const int path_width = side(json, "render_width", printable(file));
    const int path_height = side(json, "render_height", printable(file));
    for (std::size_t i = 0; i < json["camera_path"].size(); ++i)
      cameras.push_back(
          nerfstudio_camera(json["camera_path"][i], path_width, path_height, where(i)));
  } else if (json.is_object() && json.contains("frames")) {
    cameras = scene_cameras(file);
  } else {
    throw Error(ErrorKind::input, "the file holds no camera path", printable(file),
                std::string("give a list of cameras; ") + kHint);
  }
  TTT_CHECK(!cameras.empty(), input, "the camera path is empty", printable(file), kHint);
  for (Camera& camera : cameras) camera = cropped(camera, width, height);
  return cameras;
}

std::string camera_path_json(std::span<const Camera> cameras) {
  Json list = Json::array();
  for (const Camera& camera : cameras) {
    const std::array<double, 16> m = matrix4(inverse(camera.camera_to_world));
    Json rows = Json::array();
    for (std::size_t r = 0; r < 4; ++r)
      rows.push_back({m[4 * r], m[4 * r + 1], m[4 * r + 2], m[4 * r + 3]});
    const Intrinsics& k = camera.intrinsics;
    list.push_back({{"w", camera.width},
                    {"h", camera.height},
                    {"fx", k.fx},
                    {"fy", k.fy},
                    {"cx", k.cx},
                    {"cy", k.cy},
                    {"w2c", rows}});
  }
  return list.dump(1) + "\n";
}

}  // namespace ttt::nvs
