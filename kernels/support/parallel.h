// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace ttt::ops {

/// Calls body(i) for 0 <= i < count, over the threads, in the state of the calling one (gradients,
/// inference mode): the bodies may call ops, which then run on the body's thread alone. An error of
/// one is thrown again. Here and not at::parallel_for in the caller, since that runs one by one
/// where a file isn't compiled for OpenMP.
void parallel_parts(std::int64_t count, const std::function<void(std::int64_t)>& body);

}  // namespace ttt::ops
