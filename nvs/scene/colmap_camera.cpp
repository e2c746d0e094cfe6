// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/scene/colmap_model.h"

#include <algorithm>
#include <array>

namespace ttt::nvs {
namespace {

constexpr std::array kModels{
    ColmapCameraModel{0, "SIMPLE_PINHOLE", 3, true},
    ColmapCameraModel{1, "PINHOLE", 4, true},
    ColmapCameraModel{2, "SIMPLE_RADIAL", 4, true},
    ColmapCameraModel{3, "RADIAL", 5, true},
    ColmapCameraModel{4, "OPENCV", 8, true},
    ColmapCameraModel{5, "OPENCV_FISHEYE", 8, true},
    ColmapCameraModel{6, "FULL_OPENCV", 12, true},
    ColmapCameraModel{7, "FOV", 5, false},
    ColmapCameraModel{8, "SIMPLE_RADIAL_FISHEYE", 4, true},
    ColmapCameraModel{9, "RADIAL_FISHEYE", 5, true},
    ColmapCameraModel{10, "THIN_PRISM_FISHEYE", 12, false},
    ColmapCameraModel{11, "RAD_TAN_THIN_PRISM_FISHEYE", 16, false},
    ColmapCameraModel{12, "SIMPLE_DIVISION", 4, false},
    ColmapCameraModel{13, "DIVISION", 5, false},
    ColmapCameraModel{14, "SIMPLE_FISHEYE", 3, false},
    ColmapCameraModel{15, "FISHEYE", 4, false},
    ColmapCameraModel{16, "EUCM", 6, false},
    ColmapCameraModel{17, "EQUIRECTANGULAR", 2, false},
};

/// Models with one focal length: f cx cy, then the lens.
bool one_focal(int model) {
  return model == 0 || model == 2 || model == 3 || model == 8 || model == 9;
}

}  // namespace

const ColmapCameraModel* colmap_camera_model(int id) {
  const auto found = std::find_if(kModels.begin(), kModels.end(),
                                  [&](const ColmapCameraModel& model) { return model.id == id; });
  return found == kModels.end() ? nullptr : &*found;
}

const ColmapCameraModel* colmap_camera_model(std::string_view name) {
  const auto found =
      std::find_if(kModels.begin(), kModels.end(),
                   [&](const ColmapCameraModel& model) { return model.name == name; });
  return found == kModels.end() ? nullptr : &*found;
}

Intrinsics colmap_intrinsics(const ColmapCamera& camera) {
  const std::vector<double>& p = camera.parameters;
  if (one_focal(camera.model->id)) return {p[0], p[0], p[1], p[2]};
  return {p[0], p[1], p[2], p[3]};
}

Distortion colmap_distortion(const ColmapCamera& camera) {
  const std::vector<double>& p = camera.parameters;
  Distortion lens;
  switch (camera.model->id) {
    case 2:  // SIMPLE_RADIAL
      lens.k[0] = p[3];
      break;
    case 3:  // RADIAL
      lens.k = {p[3], p[4], 0, 0};
      break;
    case 4:  // OPENCV
      lens.k = {p[4], p[5], 0, 0};
      lens.p = {p[6], p[7]};
      break;
    case 5:  // OPENCV_FISHEYE
      lens.model = LensModel::fisheye;
      lens.k = {p[4], p[5], p[6], p[7]};
      break;
    case 6:  // FULL_OPENCV
      lens.k = {p[4], p[5], p[8], 0};
      lens.p = {p[6], p[7]};
      lens.d = {p[9], p[10], p[11]};
      break;
    case 8:  // SIMPLE_RADIAL_FISHEYE
      lens.model = LensModel::fisheye;
      lens.k[0] = p[3];
      break;
    case 9:  // RADIAL_FISHEYE
      lens.model = LensModel::fisheye;
      lens.k = {p[3], p[4], 0, 0};
      break;
    default:
      break;
  }
  return lens;
}

}  // namespace ttt::nvs
