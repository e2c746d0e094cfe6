// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

namespace ttt::test {

/// Element `index` of the reproducible fill called `name`: uniform in [−1, 1), the same in every
/// implementation of the golden set (FNV-1a of the name, then a 32-bit finaliser).
double fill_value(std::string_view name, std::int64_t index);

/// A float tensor of fill values times `factor`, computed in double and rounded once.
at::Tensor fill(std::string_view name, at::IntArrayRef shape, double factor = 1.0);

/// A weight of this state-dict name, scaled by the golden set's rules (running_var 1 + 0.5u,
/// leaf bias 0.1u, matrices u·√(3·rows/numel), …). The rope and num_batches_tracked buffers aren't
/// filled by these rules: throws for them.
at::Tensor fill_weight(std::string_view name, at::IntArrayRef shape);

}  // namespace ttt::test
