// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace ttt::test {

/// Counts the bytes of tensors of this thread.
class TensorCounter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t, c10::Device) override {
    current_ += size;
    peak_ = std::max(peak_, current_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t peak() const { return peak_; }

 private:
  std::int64_t current_ = 0, peak_ = 0;
};

/// The most bytes that the tensors made by f held at once, by LibTorch's allocator.
template <typename F>
std::int64_t tensor_peak(const F& f) {
  const auto counter = std::make_shared<TensorCounter>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, counter);
  f();
  return counter->peak();
}

}  // namespace ttt::test
