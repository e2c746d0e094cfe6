// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vision/design_space/config.h"

#include <cstdint>
#include <memory>

namespace ttt::vision {

class ClassificationModel;

/// Plain ViT3: dimensions as in the official code's class VisionTransformer
/// (LeapLabTHU/ViTTT: vittt/models/vittt.py).
struct Vit3Config {
  std::int64_t dim = 192;
  std::int64_t depth = 12;
  std::int64_t heads = 6;
  std::int64_t patch = 16;
  std::int64_t classes = 1000;
  std::int64_t mlp_ratio = 4;
  InnerConfig inner = {};  ///< the published TTT blocks, or others of the design space
  bool operator==(const Vit3Config&) const = default;
};

/// Throws Error(usage) when the dimensions don't fit each other.
std::shared_ptr<ClassificationModel> make_vit3(const Vit3Config& config);

}  // namespace ttt::vision
