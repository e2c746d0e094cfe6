// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <string_view>

namespace ttt::ops {

// Checks of parameters that an op has laid out once. They throw Error(usage).

/// That there are any.
void check_packed_defined(std::string_view op, bool defined);

/// That they are for the dtype of x, and that no gradients of `inputs` would be recorded.
void check_packed_use(std::string_view op, at::ScalarType dtype, const at::Tensor& x,
                      std::initializer_list<at::Tensor> inputs);

}  // namespace ttt::ops
