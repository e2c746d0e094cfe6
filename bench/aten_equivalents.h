// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string_view>
#include <vector>

namespace ttt::bench {

/// The same computation as a case of the registry, composed of LibTorch's own operators the way the
/// official code composes it: what an op is measured against. Empty when there is none.
std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)> aten_equivalent(
    std::string_view op, std::string_view case_name);

}  // namespace ttt::bench
