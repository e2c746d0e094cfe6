// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training/random.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace ttt::vision {

/// Mixing of pictures within a batch, and label smoothing. The defaults are the official recipe
/// (timm 0.4.12's Mixup in mode "batch").
struct MixOptions {
  double mixup_alpha = 0.8;         ///< 0: no mixup
  double cutmix_alpha = 1.0;        ///< 0: no cutmix
  double probability = 1.0;         ///< of mixing a batch at all
  double switch_probability = 0.5;  ///< of cutmix where both are on
  double smoothing = 0.1;
};

/// Smoothed targets [B, classes]: 1 - s + s/classes for the label, s/classes elsewhere. Float.
at::Tensor smoothed_targets(const std::vector<std::int64_t>& labels, std::int64_t classes,
                            double smoothing);

/// Mixes each picture of `images` [B,3,H,W], in place, with the one at the mirrored position of the
/// batch, by one ratio for the whole batch; returns the targets [B, classes], mixed alike.
at::Tensor mix_batch(at::Tensor images, const std::vector<std::int64_t>& labels,
                     std::int64_t classes, const MixOptions& options, training::Random& random);

}  // namespace ttt::vision
