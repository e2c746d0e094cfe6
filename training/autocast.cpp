// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/autocast.h"

#include <ATen/autocast_mode.h>

namespace ttt::training {

AutocastGuard::AutocastGuard(c10::DeviceType device, c10::ScalarType dtype)
    : device_(device),
      previous_dtype_(at::autocast::get_autocast_dtype(device)),
      previous_(at::autocast::is_autocast_enabled(device)) {
  const bool enable = dtype == at::kBFloat16 || dtype == at::kHalf;
  at::autocast::increment_nesting();
  at::autocast::set_autocast_enabled(device, enable);
  if (enable) at::autocast::set_autocast_dtype(device, dtype);
}

AutocastGuard::~AutocastGuard() {
  // The cache holds narrow copies of the parameters, which the next optimizer step outdates.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, previous_);
  at::autocast::set_autocast_dtype(device_, previous_dtype_);
}

}  // namespace ttt::training
