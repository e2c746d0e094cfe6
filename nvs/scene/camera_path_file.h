// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/cameras/camera.h"

#include <span>
#include <string>
#include <vector>

namespace ttt::nvs {

/// Reads a camera path: a JSON list of cameras as in LaCT's camera files (`file_path` may be
/// missing, `w` and `h` must not), a nerfstudio camera path (`camera_path` with `camera_to_world`
/// and the vertical `fov` in degrees), or a transforms.json with its pictures. Cameras are brought
/// to width x height as pictures are. Throws Error(input).
std::vector<Camera> read_camera_path(const std::string& file, int width, int height);

/// The LaCT list of cameras, which read_camera_path() reads back to about the last digit.
std::string camera_path_json(std::span<const Camera> cameras);

}  // namespace ttt::nvs
