// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ttt::training {

/// Linear warm-up, then cosine, per iteration (LeapLabTHU/ViTTT: vittt/lr_scheduler.py with timm's
/// CosineLRScheduler, t_mul 1): with t the number of finished steps before the last one,
///   t < warmup_steps:  warmup_start + t (base - warmup_start) / warmup_steps
///   t < total_steps:   minimum + (base - minimum)(1 + cos(pi t / total_steps)) / 2
///   later:             minimum
/// The cosine is not shifted by the warm-up. With `after_warmup` it is: it starts at the end of the
/// warm-up, and step n runs with value(n) (LaCT's training script, lact_nvs/train.py).
struct WarmupCosine {
  double base = 5e-4;
  double warmup_start = 5e-7;
  double minimum = 5e-6;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;
  bool after_warmup = false;

  double value(std::int64_t t) const;
  /// The rate that optimizer step n (from 0) uses. The official loop updates the rate after step t
  /// with value(t), so step n runs with value(n - 1) and step 0 with warmup_start.
  double at_step(std::int64_t n) const;
};

/// Official scaling of the three rates: times (global batch) / 512.
WarmupCosine scaled_to_batch(WarmupCosine schedule, std::int64_t global_batch);

}  // namespace ttt::training
