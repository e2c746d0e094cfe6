// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/cameras/camera.h"

#include <cstddef>
#include <span>

namespace ttt::nvs {

/// Position of the camera nearest to a target, by the distances of positions (relative to how far
/// the cameras spread) and of forward axes together. At least one camera.
std::size_t nearest_camera(const Camera& target, std::span<const Camera> cameras);

}  // namespace ttt::nvs
