// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace ttt::ops {

/// At least `count` floats of this thread, aligned for the widest vectors, content undefined. They
/// stay allocated, so that an op allocates nothing per call; the next call on the same thread hands
/// out the same memory. What must outlive such calls takes another slot.
template <int kSlot = 0>
float* thread_scratch(std::size_t count) {
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  thread_local std::unique_ptr<float, Free> memory;
  thread_local std::size_t capacity = 0;
  if (count > capacity) {
    constexpr std::size_t kAlignment = 64;
    const std::size_t bytes = (count * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
    memory.reset(static_cast<float*>(std::aligned_alloc(kAlignment, bytes)));
    capacity = memory ? count : 0;
    if (!memory) throw std::bad_alloc();
  }
  return memory.get();
}

}  // namespace ttt::ops
