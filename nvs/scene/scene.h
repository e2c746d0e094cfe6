// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/cameras/camera.h"
#include "nvs/cameras/distortion.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::nvs {

enum class SceneFormat {
  lact,        ///< opencv_cameras.json, alone or through an index
  transforms,  ///< transforms.json of Blender/NeRF, instant-ngp or nerfstudio
  dl3dv,       ///< <scene>/nerfstudio/transforms.json with images_4
  colmap,      ///< sparse model, text or binary
};
/// "LaCT", "transforms.json", "DL3DV", "COLMAP".
std::string_view to_string(SceneFormat format);

enum class Split { none, train, validation, test };
std::string_view to_string(Split split);

/// One posed picture. Its place in Scene::frames is its index everywhere.
struct Frame {
  std::string name;           ///< the picture as the scene's files name it
  std::string path;           ///< the picture on disk; empty when it wasn't found
  Transform world_to_camera;  ///< OpenCV axes, as given: `linear` need not be a rotation
  Intrinsics intrinsics;      ///< in pixels of the declared size, before undistortion
  Distortion distortion;
  int width = 0;  ///< declared size; the stored one where the scene doesn't say
  int height = 0;
  std::int64_t camera_id = 0;  ///< frames of one lens share it
  Split split = Split::none;
  std::string problem;  ///< why this frame can't be used; empty for a good one

  bool usable() const { return problem.empty(); }
};

/// A point of a sparse reconstruction, in the scene's world.
struct ScenePoint {
  Vector3 position;
  std::array<std::uint8_t, 3> rgb{};
  std::uint64_t views = 0;  ///< pictures that show it
};

/// A set of posed pictures with cameras in one world.
struct Scene {
  std::string name;
  std::string path;  ///< of the file or folder that holds the cameras
  SceneFormat format = SceneFormat::lact;
  std::string axes;  ///< the conventions of the file, in words
  std::vector<Frame> frames;
  std::vector<ScenePoint> points;     ///< COLMAP's points3D; empty where a scene has none
  std::vector<std::string> warnings;  ///< what the user should know; each is one line
  std::vector<std::string> notes;     ///< what was chosen or counted

  /// Indices of the frames that can be used, in order.
  std::vector<int> usable() const;
  int unusable_count() const;
};

/// What a file's camera axes are taken for.
enum class CameraAxes {
  of_format,  ///< what its format says
  opencv,     ///< x right, y down, z forward
  opengl,     ///< x right, y up, z backward
};

struct SceneOptions {
  CameraAxes axes = CameraAxes::of_format;
  double scale = 1;  ///< positions are multiplied by it
  /// Keep the world of a transforms.json as it is. Otherwise `applied_transform` and
  /// `applied_scale` are undone, and DL3DV scenes get the world of the official conversion.
  bool keep_world = false;
  /// Take pictures from images_N beside the folder that the scene names; 0: where it says.
  int downscale = 0;
  /// Frames in the natural order of their names instead of that of the file (COLMAP has none, so it
  /// is always sorted).
  bool sort_frames = false;
};

/// One scene that a path leads to.
struct SceneLocation {
  std::string name;
  std::string path;  ///< of the camera file, or the folder of a COLMAP model
  SceneFormat format = SceneFormat::lact;
  std::vector<std::string> notes;
};

/// The scenes behind a file or folder: several for an index file, else one. Recognised are
/// - a JSON file by its content: LaCT cameras, a LaCT index, or transforms.json
/// - cameras.bin/.txt or images.bin/.txt of a COLMAP model
/// - a folder that holds, in this order: opencv_cameras.json, transforms.json or
///   transforms_{train,val,test}.json, nerfstudio/transforms.json, a COLMAP model (itself, or in
///   sparse/, sparse/0, colmap/sparse/0, …), a single other JSON file of these kinds, or
///   sub-folders that are scenes
/// Throws Error(input) when there is none, and tells what was looked for.
std::vector<SceneLocation> find_scenes(const std::string& path);

/// Reads the cameras of a scene; pictures are looked for, but not opened unless the scene doesn't
/// tell their size. A frame that can't be used keeps its place and has a `problem`; the scene's
/// warnings count and name them. Throws Error(input) for damaged files and when no frame is usable,
/// Error(unsupported) for camera models that have no flat picture, by name.
Scene read_scene(const SceneLocation& location, const SceneOptions& options = {});

/// The only scene, or number `index` of an index file. Throws Error(usage) when there are fewer.
Scene read_scene(const std::string& path, const SceneOptions& options = {}, std::size_t index = 0);

}  // namespace ttt::nvs
