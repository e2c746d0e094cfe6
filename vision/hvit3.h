// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vision/design_space/config.h"

#include <array>
#include <cstdint>
#include <memory>

namespace ttt::vision {

class ClassificationModel;

constexpr std::size_t kStages = 4;

/// Hierarchical ViT3: dimensions as in the official code's class ViTTT
/// (LeapLabTHU/ViTTT: vittt/models/h_vittt.py).
struct HVit3Config {
  std::array<std::int64_t, kStages> dims{64, 128, 320, 512};
  std::array<std::int64_t, kStages> depths{1, 3, 9, 4};
  std::array<std::int64_t, kStages> heads{2, 4, 10, 16};
  std::int64_t classes = 1000;
  std::int64_t mlp_ratio = 4;
  InnerConfig inner = {};  ///< the published TTT blocks, or others of the design space
  bool operator==(const HVit3Config&) const = default;
};

/// Throws Error(usage) when the dimensions don't fit each other.
std::shared_ptr<ClassificationModel> make_hvit3(const HVit3Config& config);

}  // namespace ttt::vision
