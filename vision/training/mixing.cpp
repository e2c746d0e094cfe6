// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/training/mixing.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

namespace ttt::vision {
namespace {

/// Pastes a box of the mirrored batch; returns the share of the picture that stays.
double paste_box(at::Tensor images, double ratio, training::Random& random) {
  const std::int64_t height = images.size(2), width = images.size(3);
  const double side = std::sqrt(1.0 - ratio);
  const auto box_height = static_cast<std::int64_t>(static_cast<double>(height) * side);
  const auto box_width = static_cast<std::int64_t>(static_cast<double>(width) * side);
  const std::int64_t y = random.below(height), x = random.below(width);
  const std::int64_t top = std::max<std::int64_t>(0, y - box_height / 2);
  const std::int64_t bottom = std::min(height, y + box_height / 2);
  const std::int64_t left = std::max<std::int64_t>(0, x - box_width / 2);
  const std::int64_t right = std::min(width, x + box_width / 2);
  const at::Tensor box = images.slice(2, top, bottom).slice(3, left, right);
  box.copy_(box.flip(0));  // flip() copies, so the source isn't overwritten while it is read
  return 1.0 -
         static_cast<double>((bottom - top) * (right - left)) / static_cast<double>(height * width);
}

}  // namespace

at::Tensor smoothed_targets(const std::vector<std::int64_t>& labels, std::int64_t classes,
                            double smoothing) {
  const double off = smoothing / static_cast<double>(classes);
  const auto count = static_cast<std::int64_t>(labels.size());
  at::Tensor targets = at::full({count, classes}, off, at::kFloat);
  const at::Tensor index = at::tensor(labels, at::kLong).unsqueeze(1);
  return targets.scatter_(1, index, 1.0 - smoothing + off);
}

at::Tensor mix_batch(at::Tensor images, const std::vector<std::int64_t>& labels,
                     std::int64_t classes, const MixOptions& options, training::Random& random) {
  const at::Tensor targets = smoothed_targets(labels, classes, options.smoothing);
  const bool mixup = options.mixup_alpha > 0, cutmix = options.cutmix_alpha > 0;
  if ((!mixup && !cutmix) || !random.chance(options.probability)) return targets;
  const bool paste = cutmix && (!mixup || random.chance(options.switch_probability));
  const double alpha = paste ? options.cutmix_alpha : options.mixup_alpha;
  double ratio = random.beta(alpha, alpha);
  if (paste) {
    ratio = paste_box(images, ratio, random);
  } else {
    images.copy_(images * ratio + images.flip(0) * (1.0 - ratio));
  }
  return targets * ratio + targets.flip(0) * (1.0 - ratio);
}

}  // namespace ttt::vision
