// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the parity tests of all backends share.

#include "kernels/parity.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::test {

using ops::Tensors;

/// What a tensor of a type may differ by.
using Tolerance = std::function<double(at::ScalarType)>;

void expect_equal(const Tensors& actual, const Tensors& expected,
                  const Tolerance& tolerance = ops::rounding_tolerance);

const ops::Op& op_of(std::string_view name);
std::vector<std::string> op_names();

}  // namespace ttt::test
