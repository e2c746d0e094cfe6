// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/schedule.h"

#include <cmath>
#include <numbers>

namespace ttt::training {

double WarmupCosine::value(std::int64_t t) const {
  if (t < warmup_steps)
    return warmup_start +
           static_cast<double>(t) * (base - warmup_start) / static_cast<double>(warmup_steps);
  if (t >= total_steps) return minimum;
  const std::int64_t start = after_warmup ? warmup_steps : 0;
  const double phase =
      std::numbers::pi * static_cast<double>(t - start) / static_cast<double>(total_steps - start);
  return minimum + 0.5 * (base - minimum) * (1.0 + std::cos(phase));
}

double WarmupCosine::at_step(std::int64_t n) const {
  if (after_warmup) return value(n);
  // timm sets every group to the warm-up rate when it is built, if there is a warm-up at all.
  if (n == 0) return warmup_steps > 0 ? warmup_start : base;
  return value(n - 1);
}

WarmupCosine scaled_to_batch(WarmupCosine schedule, std::int64_t global_batch) {
  const double factor = static_cast<double>(global_batch) / 512.0;
  schedule.base *= factor;
  schedule.warmup_start *= factor;
  schedule.minimum *= factor;
  return schedule;
}

}  // namespace ttt::training
