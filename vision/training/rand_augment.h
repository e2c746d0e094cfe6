// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vision/training/augment.h"

#include <string_view>
#include <vector>

namespace ttt::vision {

/// One operation of RandAugment at a magnitude from 0 to 10, in place. "Increasing" variants: the
/// effect grows with the magnitude (timm 0.4.12: rand_augment_transform with inc1). `random`
/// decides signs; `fill` colours what comes in from outside.
struct RandAugmentOp {
  std::string_view name;
  void (*apply)(Image& image, double magnitude, const std::array<std::uint8_t, 3>& fill,
                training::Random& random);
};
const std::vector<RandAugmentOp>& rand_augment_operations();

/// Draws options.rand_augment_ops operations with replacement; each acts with probability 1/2, at a
/// magnitude drawn from a normal distribution around options.rand_augment_magnitude. New pixels get
/// the mean colour, round(255 * mean).
void rand_augment(Image& image, const AugmentOptions& options, training::Random& random);

}  // namespace ttt::vision
