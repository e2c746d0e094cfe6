// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/parallel.h"

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>

#ifndef _OPENMP
#error "without OpenMP nothing would run in parallel"
#endif

namespace ttt::ops {

void parallel_parts(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  const at::ThreadLocalState state;
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    const at::ThreadLocalStateGuard guard(state);
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace ttt::ops
