// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_pool.h"

#include "core/arena.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <atomic>
#include <mutex>
#include <unistd.h>

namespace ttt {
namespace {

// What the C library would ask the system for as well; below it its heap is as good.
constexpr std::size_t kSmallestPooled = std::size_t{128} << 10;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;  // uses of freed memory show only if it is really freed
#else
constexpr bool kSanitized = false;
#endif

std::atomic<Arena*> pool_arena{nullptr};

void free_block(void* data) {
  if (data == nullptr) return;
  c10::profiledCPUMemoryReporter().Delete(data);
  if (!pool_arena.load()->release(data)) c10::free_cpu(data);
}

class TensorPool final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* data = bytes >= kSmallestPooled ? pool_arena.load()->allocate(bytes) : nullptr;
    if (data == nullptr) data = c10::alloc_cpu(bytes);
    c10::profiledCPUMemoryReporter().New(data, bytes);
    return {data, data, &free_block, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

std::size_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page)
                               : 0;
}

}  // namespace

void use_tensor_pool() {
  if (kSanitized) return;
  static std::once_flag once;
  std::call_once(once, [] {
    // Both live as long as the last tensor, which may be a static one.
    pool_arena = new Arena(physical_memory());
    c10::SetCPUAllocator(new TensorPool);
  });
}

void trim_tensor_pool() {
  if (Arena* arena = pool_arena.load()) arena->trim();
}

}  // namespace ttt
