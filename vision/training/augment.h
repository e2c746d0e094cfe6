// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/preprocess.h"
#include "training/random.h"

namespace ttt::vision {

/// How a training picture is cut to the model's size.
enum class CropRule {
  random_resized,  ///< a random part, scaled (bicubic): the official recipe
  pad_and_crop,    ///< scaled to the size, padded, and a random window: for small pictures
  none,            ///< as in evaluation
};

/// One picture's augmentation. The defaults are the official ImageNet recipe (timm 0.4.12's
/// create_transform as LeapLabTHU/ViTTT: vittt/data/build.py calls it).
struct AugmentOptions {
  PreprocessOptions preprocess;  ///< size, mean, std; crop and rule for CropRule::none
  CropRule crop = CropRule::random_resized;
  double min_scale = 0.08, max_scale = 1.0;             ///< share of the picture's area
  double min_ratio = 3.0 / 4.0, max_ratio = 4.0 / 3.0;  ///< width over height
  int padding = 4;                                      ///< pixels on each side
  double flip = 0.5;
  int rand_augment_ops = 2;             ///< 0: none
  double rand_augment_magnitude = 9.0;  ///< of 10
  double rand_augment_std = 0.5;
  double erase = 0.25;
};

/// The picture after the geometric and colour steps, still 8-bit.
Image augment_pixels(const Image& image, const AugmentOptions& options, training::Random& random);

/// Everything: augmented, normalised, randomly erased; to planes chw[(c * height + y) * width + x].
void augment(const Image& image, const AugmentOptions& options, training::Random& random,
             float* chw);

}  // namespace ttt::vision
