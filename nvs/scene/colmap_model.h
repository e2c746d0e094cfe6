// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/cameras/distortion.h"
#include "nvs/scene/scene.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// The files of a COLMAP sparse model. Private to nvs/scene.
namespace ttt::nvs {

/// One row of COLMAP's table of camera models.
struct ColmapCameraModel {
  int id;
  std::string_view name;
  std::size_t parameters;
  bool supported;  ///< we have its lens
};
/// Null for unknown ones.
const ColmapCameraModel* colmap_camera_model(int id);
const ColmapCameraModel* colmap_camera_model(std::string_view name);

struct ColmapCamera {
  const ColmapCameraModel* model = nullptr;
  std::uint64_t width = 0, height = 0;
  std::vector<double> parameters;
};

struct ColmapImage {
  std::uint32_t id = 0;
  Quaternion rotation{};
  Vector3 translation;
  std::uint32_t camera = 0;
  std::string name;
};

struct ColmapModel {
  std::map<std::uint32_t, ColmapCamera> cameras;
  std::vector<ColmapImage> images;
};

/// Reads cameras and images of a folder: binary files if both are there, else text. Counts in
/// binary files are checked against the file's length before memory is taken. Throws Error(input).
ColmapModel read_colmap_model(const std::string& folder);

struct ColmapPoints {
  std::vector<ScenePoint> points;
  std::size_t dropped = 0;  ///< not finite, or absurdly far away
};
/// Reads points3D of a folder, the binary file if it is there, else the text; nothing when there is
/// neither. Counts are checked as above. Throws Error(input).
ColmapPoints read_colmap_points(const std::string& folder);

bool has_binary_model(const std::string& folder);
bool has_text_model(const std::string& folder);
/// The number of images, from the header of a binary file or by reading a text; 0 when damaged.
std::size_t count_colmap_images(const std::string& folder);

/// The lens and matrix of a camera of a supported model.
Intrinsics colmap_intrinsics(const ColmapCamera& camera);
Distortion colmap_distortion(const ColmapCamera& camera);

}  // namespace ttt::nvs
