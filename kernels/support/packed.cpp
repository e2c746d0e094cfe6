// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/packed.h"

#include "core/error.h"
#include "kernels/support/checks.h"

#include <spdlog/fmt/fmt.h>

namespace ttt::ops {

void check_packed_defined(std::string_view op, bool defined) {
  TTT_CHECK(defined, usage, "the packed parameters are empty", std::string(op),
            "make them from a weight");
}

void check_packed_use(std::string_view op, at::ScalarType dtype, const at::Tensor& x,
                      std::initializer_list<at::Tensor> inputs) {
  TTT_CHECK(x.scalar_type() == dtype, usage,
            fmt::format("x is {}, but the parameters were packed for {}",
                        c10::toString(x.scalar_type()), c10::toString(dtype)),
            std::string(op), "pack them for the dtype of x");
  TTT_CHECK(!needs_gradient(inputs), usage, "packed parameters record no gradients",
            std::string(op), "use the form that takes a weight, or at::NoGradGuard");
}

}  // namespace ttt::ops
