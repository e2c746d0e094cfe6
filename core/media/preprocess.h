// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"
#include "core/media/resample.h"

#include <array>

namespace ttt {

enum class ResizeRule {
  cover,   ///< scale until the picture covers size / crop_percent, then cut out the centre
  squash,  ///< resize straight to the size, whatever that does to the aspect ratio
};

/// From a picture to what a classifier sees. The defaults are the official ImageNet evaluation
/// (LeapLabTHU/ViTTT: vittt/data/build.py).
struct PreprocessOptions {
  int width = 224;
  int height = 224;
  ResizeRule rule = ResizeRule::cover;
  double crop_percent = 0.875;  ///< in (0, 1]; 0.875 is the official 256/224 rule
  ResizeFilter filter = ResizeFilter::bicubic;
  std::array<float, 3> mean{0.485F, 0.456F, 0.406F};
  std::array<float, 3> std{0.229F, 0.224F, 0.225F};
};

/// The size a picture is scaled to before the crop, and the crop.
struct ResizePlan {
  int width = 0;
  int height = 0;
  PixelRect crop;
};

/// For a square size and rule cover: short side = int(256/224 * size), long side =
/// int(short * long / short of the picture), crop offset rounded half to even. Throws Error(usage)
/// for options out of range and Error(input) for a picture that is too long and thin.
ResizePlan plan_resize(int image_width, int image_height, const PreprocessOptions& options);

/// Scales and crops to options.width x options.height.
Image resize_and_crop(const Image& image, const PreprocessOptions& options);

/// (value / 255 - mean) / std in float32, rounded after each step as torchvision does, to planes:
/// chw[(channel * height + y) * width + x].
void normalize(const Image& image, const PreprocessOptions& options, float* chw);

}  // namespace ttt
