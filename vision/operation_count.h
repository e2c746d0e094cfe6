// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vision/model_catalog.h"

#include <optional>

namespace ttt::vision {

/// Floating-point operations (a multiplication and an addition are two) of one forward pass over
/// one picture, for rates: matrix products and convolutions, inner training included, without norms
/// and activations. Nothing for models whose TTT blocks are not the published ones.
std::optional<double> count_operations(const ModelSpec& spec, std::int64_t width,
                                       std::int64_t height);

}  // namespace ttt::vision
