// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/scene/scene.h"

#include <array>
#include <span>
#include <vector>

/// Choices by camera position and direction. Private to nvs/scene.
namespace ttt::nvs {

/// Six numbers a camera: position over the rig's extent, forward axis.
using ViewFeature = std::array<double, 6>;
std::vector<ViewFeature> view_features(const Scene& scene, std::span<const int> frames);

/// Positions in `features` of `count` of them; deterministic. count <= features.size().
std::vector<int> choose_farthest(std::span<const ViewFeature> features, int count);
/// Starts at the farthest points, then Lloyd's iterations; each centre takes the nearest camera
/// that isn't taken yet.
std::vector<int> choose_kmeans(std::span<const ViewFeature> features, int count);

}  // namespace ttt::nvs
