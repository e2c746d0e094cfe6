// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/model/config.h"

namespace ttt::nvs {

/// Floating-point operations (two for a product that is added) of LvsmRenderer::reconstruct with so
/// many views, as far as they are needed: nothing behind the last update, half of Newton-Schulz's
/// symmetric products. Only matrix products count. Sizes that the patches don't divide are the
/// caller's mistake.
double reconstruct_operations(const LvsmConfig& config, std::int64_t views, std::int64_t width,
                              std::int64_t height);

/// The same of LvsmRenderer::render.
double render_operations(const LvsmConfig& config, std::int64_t views, std::int64_t width,
                         std::int64_t height);

}  // namespace ttt::nvs
