// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/scene/scene.h"

#include "core/error.h"
#include "core/inputs/paths.h"
#include "nvs/scene/json_fields.h"
#include "nvs/scene/readers.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>

namespace ttt::nvs {
namespace {

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

/// The last part of the full path that isn't one of the usual inner names.
std::string scene_name(const std::string& given) {
  std::error_code ignored;
  std::string path = std::filesystem::absolute(given, ignored).lexically_normal().string();
  for (const char* inner :
       {"opencv_cameras.json", "transforms.json", "nerfstudio", "0", "sparse", "colmap", "dense"}) {
    path = without_slashes(path);
    if (inputs::name_of(path) == inner) path.erase(path.rfind('/'));
  }
  return std::string(inputs::name_of(without_slashes(path)));
}

bool is_dl3dv(const std::string& file) {
  const std::string folder = file.substr(0, file.rfind('/') + 1);
  return inputs::name_of(without_slashes(folder)) == "nerfstudio" &&
         inputs::is_folder(folder + "images_4");
}

SceneLocation transforms_location(const std::string& path) {
  const bool dl3dv = !inputs::is_folder(path) && is_dl3dv(path);
  return {scene_name(path), path, dl3dv ? SceneFormat::dl3dv : SceneFormat::transforms, {}};
}

enum class JsonKind { cameras, index, transforms, other };

JsonKind kind_of(const Json& json) {
  if (json.is_object() && json.contains("frames")) return JsonKind::transforms;
  if (!json.is_array() || json.empty()) return JsonKind::other;
  return json[0].is_string()   ? JsonKind::index
         : json[0].is_object() ? JsonKind::cameras
                               : JsonKind::other;
}

std::vector<SceneLocation> read_index(const Json& index, const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::vector<SceneLocation> scenes;
  for (const Json& entry : index) {
    TTT_CHECK(entry.is_string(), input, "an entry of the index is not a path", printable(path));
    std::string name = entry.get<std::string>();
    std::string file = name.starts_with('/') ? name : folder + name;
    if (!inputs::exists(file) && !name.starts_with('/')) file = folder + with_slashes(name);
    scenes.push_back({scene_name(file), file, SceneFormat::lact, {}});
  }
  return scenes;
}

std::vector<SceneLocation> locate_json(const std::string& path, const Json& json) {
  switch (kind_of(json)) {
    case JsonKind::cameras:
      return {{scene_name(path), path, SceneFormat::lact, {}}};
    case JsonKind::transforms:
      return {transforms_location(path)};
    case JsonKind::index:
      return read_index(json, path);
    case JsonKind::other:
      break;
  }
  throw Error(ErrorKind::input, "the JSON file holds no cameras", printable(path),
              "give opencv_cameras.json, an index of such files, or transforms.json");
}

/// JSON files that aren't known by their names.
std::vector<SceneLocation> locate_other_json(const std::string& folder) {
  std::vector<std::pair<std::string, Json>> found;
  for (const std::string& name : inputs::list_folder(folder)) {
    if (inputs::suffix_of(name) != "json" || inputs::is_clutter(name)) continue;
    const std::string path = inputs::join(folder, name);
    try {
      Json json = read_json(path);
      if (kind_of(json) != JsonKind::other) found.emplace_back(path, std::move(json));
    } catch (const Error&) {
      // Something else.
    }
  }
  if (found.empty()) return {};
  TTT_CHECK(found.size() == 1, input,
            fmt::format("there are {} files of cameras: {}, {}{}", found.size(),
                        printable(found[0].first), printable(found[1].first),
                        found.size() > 2 ? ", …" : ""),
            printable(folder), "name the one to take");
  return locate_json(found[0].first, found[0].second);
}

std::vector<SceneLocation> locate_in_folder(const std::string& folder) {
  std::vector<SceneLocation> found;
  const std::string lact = inputs::join(folder, "opencv_cameras.json");
  if (inputs::is_file(lact)) found.push_back({scene_name(lact), lact, SceneFormat::lact, {}});
  const std::string nested = inputs::join(folder, "nerfstudio");
  for (const std::string& place : {folder, nested}) {
    const auto files = transforms_files(place);
    if (!inputs::is_folder(place) || files.empty()) continue;
    const bool whole = files.size() == 1 && files[0].second == Split::none;
    found.push_back(transforms_location(whole ? files[0].first : place));
  }
  std::vector<std::string> notes;
  if (const std::string model = find_colmap_model(folder, notes); !model.empty())
    found.push_back({scene_name(folder), model, SceneFormat::colmap, notes});
  if (found.empty()) return locate_other_json(folder);
  for (std::size_t i = 1; i < found.size(); ++i)
    found[0].notes.push_back(fmt::format("took {}; there is {} too", printable(found[0].path),
                                         printable(found[i].path)));
  found.resize(1);
  return found;
}

std::vector<SceneLocation> locate_sub_folders(const std::string& folder) {
  std::vector<SceneLocation> scenes;
  for (const std::string& name : inputs::list_folder(folder)) {
    const std::string path = inputs::join(folder, name);
    if (inputs::is_clutter(name) || !inputs::is_folder(path)) continue;
    for (SceneLocation& scene : locate_in_folder(path)) scenes.push_back(std::move(scene));
  }
  return scenes;
}

bool opengl_format(SceneFormat format) {
  return format == SceneFormat::transforms || format == SceneFormat::dl3dv;
}

/// Applies the axes and scale that the user knows better than the file.
void apply_conventions(Scene& scene, const SceneOptions& options) {
  const bool asked = options.axes != CameraAxes::of_format;
  const bool flip = asked && (options.axes == CameraAxes::opengl) != opengl_format(scene.format);
  if (flip)
    scene.axes = options.axes == CameraAxes::opengl ? "taken for OpenGL camera axes, as asked"
                                                    : "taken for OpenCV camera axes, as asked";
  for (Frame& frame : scene.frames) {
    Transform& pose = frame.world_to_camera;
    if (flip) {
      for (std::size_t column = 0; column < 3; ++column)
        for (const std::size_t row : {1, 2}) pose.linear(row, column) *= -1;
      pose.translation = {pose.translation.x, -pose.translation.y, -pose.translation.z};
    }
    if (options.scale != 1) pose.translation = options.scale * pose.translation;
  }
  for (ScenePoint& point : scene.points) point.position = options.scale * point.position;
}

}  // namespace

std::string_view to_string(SceneFormat format) {
  switch (format) {
    case SceneFormat::lact:
      return "LaCT";
    case SceneFormat::transforms:
      return "transforms.json";
    case SceneFormat::dl3dv:
      return "DL3DV";
    case SceneFormat::colmap:
      break;
  }
  return "COLMAP";
}

std::string_view to_string(Split split) {
  switch (split) {
    case Split::train:
      return "train";
    case Split::validation:
      return "validation";
    case Split::test:
      return "test";
    case Split::none:
      break;
  }
  return "none";
}

std::vector<int> Scene::usable() const {
  std::vector<int> indices;
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (frames[i].usable()) indices.push_back(static_cast<int>(i));
  return indices;
}

int Scene::unusable_count() const {
  return static_cast<int>(frames.size() - usable().size());
}

std::vector<SceneLocation> find_scenes(const std::string& given) {
  const std::string path = without_slashes(given);
  TTT_CHECK(inputs::exists(path), input, "there is no such file or folder", printable(path),
            inputs::hint_for_missing(path));
  std::vector<SceneLocation> scenes;
  if (inputs::is_folder(path)) {
    scenes = locate_in_folder(path);
    if (scenes.empty()) scenes = locate_sub_folders(path);
  } else if (const std::string suffix = inputs::suffix_of(path);
             suffix == "bin" || suffix == "txt") {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
    std::vector<std::string> notes;
    if (!find_colmap_model(folder, notes).empty())
      scenes.push_back({scene_name(folder), folder, SceneFormat::colmap, {}});
  } else {
    return locate_json(path, read_json(path));
  }
  TTT_CHECK(!scenes.empty(), input, "no scene was found", printable(path),
            "give a folder or file with opencv_cameras.json (LaCT), transforms.json (Blender, "
            "instant-ngp, nerfstudio) or a COLMAP model (cameras and images, .bin or .txt)");
  return scenes;
}

Scene read_scene(const SceneLocation& location, const SceneOptions& options) {
  TTT_CHECK(options.downscale >= 0 && options.downscale <= 64, usage,
            fmt::format("downscale {} is out of range", options.downscale), {},
            "give 2, 4 or 8, or 0 for the pictures that the scene names");
  TTT_CHECK(options.scale > 1e-9 && options.scale < 1e9, usage,
            fmt::format("scale {} is out of range", options.scale), {},
            "give a positive factor for positions");
  Scene scene;
  scene.name = location.name;
  scene.path = location.path;
  scene.format = location.format;
  scene.notes = location.notes;
  switch (location.format) {
    case SceneFormat::lact:
      read_lact(scene, options);
      break;
    case SceneFormat::transforms:
    case SceneFormat::dl3dv:
      read_transforms(scene, options);
      break;
    case SceneFormat::colmap:
      read_colmap(scene, options);
      break;
  }
  if (options.sort_frames)
    std::stable_sort(scene.frames.begin(), scene.frames.end(), [](const Frame& a, const Frame& b) {
      return inputs::natural_less(a.name, b.name);
    });
  apply_conventions(scene, options);
  check_frames(scene);
  note_pictures_without_pose(scene);
  return scene;
}

Scene read_scene(const std::string& path, const SceneOptions& options, std::size_t index) {
  const std::vector<SceneLocation> scenes = find_scenes(path);
  TTT_CHECK(index < scenes.size(), usage,
            fmt::format("there {} {} scene{}, so no scene {}", scenes.size() == 1 ? "is" : "are",
                        scenes.size(), scenes.size() == 1 ? "" : "s", index),
            printable(path), "scenes count from 0");
  return read_scene(scenes[index], options);
}

}  // namespace ttt::nvs
