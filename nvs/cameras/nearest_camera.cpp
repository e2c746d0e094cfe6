// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/cameras/nearest_camera.h"

#include <algorithm>

namespace ttt::nvs {
namespace {

Vector3 centre_of(std::span<const Camera> cameras) {
  Vector3 sum;
  for (const Camera& camera : cameras) sum += camera.position();
  return (1.0 / static_cast<double>(cameras.size())) * sum;
}

}  // namespace

std::size_t nearest_camera(const Camera& target, std::span<const Camera> cameras) {
  const Vector3 centre = centre_of(cameras);
  double spread = 0;
  for (const Camera& camera : cameras) spread += length(camera.position() - centre);
  spread /= static_cast<double>(cameras.size());
  const auto distance = [&](const Camera& camera) {
    const double apart = length(camera.position() - target.position());
    return (spread > 0 ? apart / spread : apart) + length(camera.forward() - target.forward());
  };
  const auto nearest =
      std::min_element(cameras.begin(), cameras.end(),
                       [&](const Camera& a, const Camera& b) { return distance(a) < distance(b); });
  return static_cast<std::size_t>(nearest - cameras.begin());
}

}  // namespace ttt::nvs
