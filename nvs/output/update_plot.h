// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"

#include <span>

namespace ttt::nvs {

/// What one update of fast weights did.
struct UpdateBar {
  double loss_before = 0, loss_after = 0, gradient_norm = 0, update_ratio = 0;
};

/// Three panels over the updates in order: loss before (grey) and after (blue), gradient norm on a
/// logarithmic scale, and the size of the change relative to the weights.
Image draw_updates(std::span<const UpdateBar> updates);

}  // namespace ttt::nvs
