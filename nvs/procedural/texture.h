// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/cameras/geometry.h"

#include <cstdint>

namespace ttt::nvs {

enum class Pattern {
  plain,     ///< `first` everywhere
  checker,   ///< cubes of side `scale`
  stripes,   ///< layers of thickness `scale` along `axis`
  gradient,  ///< from `first` to `second` over `scale` along `axis`, around the origin
  noise,     ///< smooth value noise with a lattice of `scale`
};

/// A colour for every point of space, so that surfaces need no coordinates of their own. Colours
/// are red, green and blue in 0 to 1.
struct Texture {
  Pattern pattern = Pattern::plain;
  Vector3 first{1, 1, 1}, second;
  double scale = 1;
  Vector3 axis{0, 0, 1};   ///< unit vector
  std::uint32_t seed = 0;  ///< of the noise
};

Vector3 colour_at(const Texture& texture, const Vector3& point);

}  // namespace ttt::nvs
