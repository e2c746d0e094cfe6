// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/inputs/paths.h"
#include "nvs/scene/json_fields.h"
#include "nvs/scene/readers.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <numbers>
#include <set>

namespace ttt::nvs {
namespace {

constexpr const char* kUndistortHint =
    "export undistorted pinhole pictures, for example with colmap image_undistorter";

/// What one level, the file's or a frame's, says about a lens. A frame's word counts more.
struct Level {
  const Json& object;
  std::string where;

  std::optional<double> number(std::string_view key) const {
    return number_field(object, key, where);
  }
};

std::optional<double> lookup(const Level& frame, const Level& top, std::string_view key) {
  const std::optional<double> value = frame.number(key);
  return value.has_value() ? value : top.number(key);
}

/// The focal length of an angle between the borders, where `level` tells one under this key.
std::optional<double> focal_from_angle(const Level& level, const std::string& key, double half_turn,
                                       double size) {
  const std::optional<double> angle = level.number(key);
  if (!angle.has_value()) return {};
  TTT_CHECK(
      *angle > 0 && *angle < half_turn, input, fmt::format("{} is {:.6g}", key, *angle),
      level.where,
      fmt::format("it is an angle between 0 and {}", half_turn < 4 ? "pi radians" : "180 degrees"));
  return 0.5 * size / std::tan(*angle / half_turn * std::numbers::pi / 2);
}

/// In instant-ngp's order: x_fov in degrees, fl_x, camera_angle_x in radians.
std::optional<double> focal(const Level& level, char axis, double size) {
  constexpr double kHalfTurn = 180;
  if (const auto pixels = focal_from_angle(level, fmt::format("{}_fov", axis), kHalfTurn, size))
    return pixels;
  if (const auto pixels = level.number(fmt::format("fl_{}", axis))) return pixels;
  return focal_from_angle(level, fmt::format("camera_angle_{}", axis), std::numbers::pi, size);
}

/// A level that tells one axis tells both.
std::optional<std::pair<double, double>> focals(const Level& level, const Frame& frame) {
  const std::optional<double> x = focal(level, 'x', frame.width);
  const std::optional<double> y = focal(level, 'y', frame.height);
  if (!x.has_value() && !y.has_value()) return {};
  return std::pair{x.has_value() ? *x : *y, y.has_value() ? *y : *x};
}

bool flag(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end()) return false;
  return (found->is_boolean() && found->get<bool>()) ||
         (found->is_number() && found->get<double>() != 0);
}

/// Throws Error(unsupported) for lenses that make no flat picture.
LensModel lens_model(const Level& frame, const Level& top) {
  std::string model = text_field(frame.object, "camera_model", frame.where)
                          .value_or(text_field(top.object, "camera_model", top.where).value_or(""));
  const std::string given = model;
  std::transform(model.begin(), model.end(), model.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  for (const Json* object : {&frame.object, &top.object}) {
    for (const std::string_view key : {"equirectangular", "latlong"})
      TTT_CHECK(!flag(*object, key), unsupported,
                fmt::format("pictures of camera model {} are not supported", key), frame.where,
                kUndistortHint);
    TTT_CHECK(!object->contains("ftheta_p0"), unsupported,
              "pictures of camera model f-theta are not supported", frame.where, kUndistortHint);
  }
  if (model == "OPENCV_FISHEYE" || model == "FISHEYE") return LensModel::fisheye;
  static constexpr auto kPolynomial = std::to_array<std::string_view>(
      {"", "OPENCV", "PINHOLE", "SIMPLE_PINHOLE", "SIMPLE_RADIAL", "RADIAL", "PERSPECTIVE"});
  TTT_CHECK(std::find(kPolynomial.begin(), kPolynomial.end(), model) != kPolynomial.end(),
            unsupported,
            fmt::format("pictures of camera model {} are not supported", printable(given, 60)),
            frame.where, kUndistortHint);
  return flag(frame.object, "is_fisheye") || flag(top.object, "is_fisheye") ? LensModel::fisheye
                                                                            : LensModel::polynomial;
}

Distortion read_distortion(const Level& frame, const Level& top, bool dl3dv) {
  Distortion lens;
  lens.model = lens_model(frame, top);
  const std::size_t count = dl3dv ? 2 : 4;  // the official DL3DV conversion knows k1 and k2 only
  for (std::size_t i = 0; i < count; ++i)
    lens.k[i] = lookup(frame, top, fmt::format("k{}", i + 1)).value_or(0);
  if (lens.model == LensModel::fisheye) return lens;
  for (std::size_t i = 0; i < 2; ++i)
    lens.p[i] = lookup(frame, top, fmt::format("p{}", i + 1)).value_or(0);
  return lens;
}

void read_intrinsics(Frame& frame, const Level& own, const Level& top) {
  std::optional<std::pair<double, double>> focal = focals(own, frame);
  if (!focal.has_value()) focal = focals(top, frame);
  TTT_CHECK(focal.has_value(), input, "the focal length is missing", own.where,
            "add fl_x (pixels), camera_angle_x (radians) or x_fov (degrees) to the file or the "
            "frame");
  frame.intrinsics = {focal->first, focal->second,
                      lookup(own, top, "cx").value_or(frame.width / 2.0),
                      lookup(own, top, "cy").value_or(frame.height / 2.0)};
}

/// OpenGL camera axes (x right, y up, z backward) to OpenCV's.
Transform opencv_axes(Transform camera_to_world) {
  for (std::size_t row = 0; row < 3; ++row)
    for (const std::size_t column : {1, 2}) camera_to_world.linear(row, column) *= -1;
  return camera_to_world;
}

/// From the file's world to the one of the scene.
struct World {
  Transform change;  ///< identity by default
  double scale = 1;  ///< applied_scale: positions are divided by it, before the change
  Transform operator()(Transform camera_to_world) const {
    if (scale != 1) camera_to_world.translation = (1 / scale) * camera_to_world.translation;
    return change == Transform{} ? camera_to_world : change * camera_to_world;
  }
};

World read_world(Scene& scene, const Json& file, const SceneOptions& options) {
  World world;
  if (options.keep_world) return world;
  if (scene.format == SceneFormat::dl3dv) {
    // The official conversion: rows 0 and 1 swapped, row 2 negated.
    world.change.linear = {{0, 1, 0, 1, 0, 0, 0, 0, -1}};
    scene.notes.push_back("world as in the official DL3DV conversion");
    return world;
  }
  const std::string where = printable(scene.path) + ", applied_transform";
  if (const auto found = file.find("applied_transform"); found != file.end() && !found->is_null()) {
    const Transform applied = matrix_field(*found, where);
    world.change = inverse(applied);
    TTT_CHECK(is_finite(world.change), input, "applied_transform can't be undone", where,
              "remove it, or keep the file's world");
    if (applied == Transform{}) world.change = {};
    if (!(applied == Transform{})) scene.notes.push_back("applied_transform is undone");
  }
  world.scale = number_field(file, "applied_scale", printable(scene.path)).value_or(1);
  TTT_CHECK(std::isfinite(world.scale) && world.scale > 0, input,
            "applied_scale is not a positive number", printable(scene.path),
            "remove it, or keep the file's world");
  if (world.scale != 1) scene.notes.push_back("applied_scale is undone");
  return world;
}

/// Reads one frame as far as possible.
Frame read_frame(const Level& own, const Level& top, const Scene& scene, PictureFinder& finder) {
  Frame frame;
  frame.name = text_field(own.object, "file_path", own.where).value_or("");
  frame.width = side_of(lookup(own, top, "w"));
  frame.height = side_of(lookup(own, top, "h"));
  const auto pose = own.object.find("transform_matrix");
  TTT_CHECK(pose != own.object.end(), input, "transform_matrix is missing", own.where);
  frame.world_to_camera = matrix_field(*pose, own.where);  // still the other way round
  attach_picture(frame, finder);
  read_intrinsics(frame, own, top);
  frame.distortion = read_distortion(own, top, scene.format == SceneFormat::dl3dv);
  return frame;
}

/// One object a frame; a frame that can't be read keeps its place.
Frame read_frame_or_problem(const Level& own, const Level& top, const Scene& scene,
                            PictureFinder& finder) {
  try {
    TTT_CHECK(own.object.is_object(), input, "a frame is not an object", own.where);
    return read_frame(own, top, scene, finder);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    Frame frame;
    frame.problem = error.message();
    if (!error.hint().empty()) frame.problem += "; " + error.hint();
    const auto name = own.object.is_object() ? own.object.find("file_path") : own.object.end();
    if (own.object.is_object() && name != own.object.end() && name->is_string())
      frame.name = name->get<std::string>();
    return frame;
  }
}

/// nerfstudio lists the names of a split.
void apply_split_lists(const Json& file, Scene& scene, std::size_t first) {
  for (const auto& [key, split] : {std::pair{"train_filenames", Split::train},
                                   {"val_filenames", Split::validation},
                                   {"test_filenames", Split::test}}) {
    const auto found = file.find(key);
    if (found == file.end() || !found->is_array()) continue;
    std::set<std::string> names;
    for (const Json& name : *found)
      if (name.is_string()) names.insert(with_slashes(name.get<std::string>()));
    for (std::size_t i = first; i < scene.frames.size(); ++i)
      if (names.count(with_slashes(scene.frames[i].name)) != 0) scene.frames[i].split = split;
  }
}

void read_file(Scene& scene, const std::string& path, Split split, const SceneOptions& options) {
  const Json file = read_json(path);
  const auto frames = file.is_object() ? file.find("frames") : file.end();
  TTT_CHECK(file.is_object() && frames != file.end() && frames->is_array(), input,
            "there is no list of frames", printable(path), "get or export the scene again");
  const World world = read_world(scene, file, options);
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  int downscale = options.downscale;
  if (downscale == 0 && scene.format == SceneFormat::dl3dv &&
      inputs::is_folder(folder + "images_4"))
    downscale = 4;
  PictureFinder finder({folder}, downscale);
  const Level top{file, printable(path)};
  const std::size_t first = scene.frames.size();
  int fractional = 0;
  for (std::size_t i = 0; i < frames->size(); ++i) {
    const Level own{(*frames)[i], fmt::format("{}, frame {}", printable(path), i)};
    Frame frame = read_frame_or_problem(own, top, scene, finder);
    if (frame.name.empty()) frame.name = fmt::format("frame {}", i);
    frame.split = split;
    if (is_finite(frame.world_to_camera))
      frame.world_to_camera = inverse(opencv_axes(world(frame.world_to_camera)));
    fractional += scale_fractional_intrinsics(frame) ? 1 : 0;
    scene.frames.push_back(std::move(frame));
  }
  apply_split_lists(file, scene, first);
  if (fractional > 0)
    scene.warnings.push_back(fmt::format(
        "the intrinsics of {} frames are taken for fractions of the picture's size", fractional));
  if (const auto summary = finder.summary()) scene.warnings.push_back(*summary);
}

}  // namespace

std::vector<std::pair<std::string, Split>> transforms_files(const std::string& path) {
  static constexpr std::array<std::pair<std::string_view, Split>, 3> kSplits{
      {{"transforms_train.json", Split::train},
       {"transforms_val.json", Split::validation},
       {"transforms_test.json", Split::test}}};
  if (!inputs::is_folder(path)) {
    Split split = Split::none;
    for (const auto& [name, which] : kSplits)
      if (inputs::name_of(path) == name) split = which;
    return {{path, split}};
  }
  const std::string whole = inputs::join(path, "transforms.json");
  if (inputs::is_file(whole)) return {{whole, Split::none}};
  std::vector<std::pair<std::string, Split>> files;
  for (const auto& [name, split] : kSplits)
    if (const std::string file = inputs::join(path, name); inputs::is_file(file))
      files.emplace_back(file, split);
  return files;
}

void read_transforms(Scene& scene, const SceneOptions& options) {
  scene.axes =
      "OpenGL camera axes (x right, y up, z backward), camera to world; turned to OpenCV's";
  for (const auto& [path, split] : transforms_files(scene.path))
    read_file(scene, path, split, options);
}

}  // namespace ttt::nvs
