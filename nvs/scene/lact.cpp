// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/inputs/paths.h"
#include "nvs/scene/json_fields.h"
#include "nvs/scene/readers.h"

#include <spdlog/fmt/fmt.h>

#include <array>

namespace ttt::nvs {
namespace {

/// Throws Error(input), naming the keys that would help.
double required(const Json& object, std::string_view key, const std::string& where) {
  const std::optional<double> value = number_field(object, key, where);
  if (!value.has_value())
    throw Error(ErrorKind::input, fmt::format("{} is missing", key), where,
                "each camera needs fx, fy, cx, cy, w2c and file_path");
  return *value;
}

Frame read_frame(const Json& object, const std::string& where) {
  TTT_CHECK(object.is_object(), input, "a camera is not an object", where);
  Frame frame;
  frame.name = text_field(object, "file_path", where).value_or("");
  frame.width = side_of(number_field(object, "w", where));
  frame.height = side_of(number_field(object, "h", where));
  frame.intrinsics = {required(object, "fx", where), required(object, "fy", where),
                      required(object, "cx", where), required(object, "cy", where)};
  const auto pose = object.find("w2c");
  TTT_CHECK(pose != object.end(), input, "w2c is missing", where,
            "each camera needs fx, fy, cx, cy, w2c and file_path");
  frame.world_to_camera = matrix_field(*pose, where);
  return frame;
}

}  // namespace

void read_lact(Scene& scene, const SceneOptions& options) {
  scene.axes = "OpenCV camera axes (x right, y down, z forward), world to camera";
  const Json cameras = read_json(scene.path);
  TTT_CHECK(cameras.is_array(), input, "not a list of cameras", printable(scene.path));
  const std::string folder = scene.path.substr(0, scene.path.rfind('/') + 1);
  PictureFinder finder({folder}, options.downscale);
  int fractional = 0;
  for (std::size_t i = 0; i < cameras.size(); ++i) {
    const std::string where = fmt::format("{}, camera {}", printable(scene.path), i);
    Frame frame;
    try {
      frame = read_frame(cameras[i], where);
    } catch (const Error& error) {
      // A damaged camera keeps its place, unless nothing could be read at all.
      if (cameras.size() == 1) throw;
      frame.problem = error.message();
      if (cameras[i].is_object()) {
        const auto name = cameras[i].find("file_path");
        if (name != cameras[i].end() && name->is_string()) frame.name = name->get<std::string>();
      }
      if (frame.name.empty()) frame.name = fmt::format("camera {}", i);
      scene.frames.push_back(std::move(frame));
      continue;
    }
    attach_picture(frame, finder);
    fractional += scale_fractional_intrinsics(frame) ? 1 : 0;
    scene.frames.push_back(std::move(frame));
  }
  if (fractional > 0)
    scene.warnings.push_back(fmt::format(
        "the intrinsics of {} frames are taken for fractions of the picture's size", fractional));
  if (const auto summary = finder.summary()) scene.warnings.push_back(*summary);
}

}  // namespace ttt::nvs
